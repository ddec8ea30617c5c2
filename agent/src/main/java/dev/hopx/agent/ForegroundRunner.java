package dev.hopx.agent;

import dev.hopx.channel.GuestException;
import dev.hopx.channel.GuestProcess;
import dev.hopx.channel.ProcessExit;
import dev.hopx.channel.Spawn;
import dev.hopx.http.HttpExchange;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs a program while its caller waits. The run ends when its leader exits (decision 19); children
 * it left in the background live on. Its whole tree is killed at its time-out and when the caller
 * goes away.
 */
final class ForegroundRunner {
  /** Bytes kept of each stream (decision 18). */
  static final int MAX_OUTPUT = 10 << 20;

  /** How long a child that holds the pipes can delay the reply. */
  static final Duration DRAIN = Duration.ofMillis(100);

  /**
   * The delay where output is still flowing in: what the leader wrote stands before it in the pipe,
   * so stopping sooner could cut the leader's own output on a busy machine.
   */
  static final Duration MAX_DRAIN = Duration.ofSeconds(2);

  /** No byte for this long: nothing was on its way. */
  private static final Duration SILENCE = Duration.ofMillis(30);

  /** More than a pipe (1 MiB at most) and the channel's window can hold of the leader's output. */
  private static final long MAX_DRAIN_BYTES = 2 << 20;

  /** How long the streams of a killed tree may take to end. */
  private static final Duration KILLED_DRAIN = Duration.ofSeconds(2);

  private static final Duration STEP = Duration.ofMillis(10);

  private static final Logger log = LoggerFactory.getLogger(ForegroundRunner.class);

  /** Blocks until the program has ended, its time is over or the caller is gone. */
  RunOutcome run(AgentSession session, HttpExchange exchange, Program program, RunRequest request)
      throws InterruptedException {
    try (MemoryWatch.Run memory = session.memory().begin()) {
      return memory.judge(runToItsEnd(session, exchange, program, request));
    }
  }

  private RunOutcome runToItsEnd(
      AgentSession session, HttpExchange exchange, Program program, RunRequest request)
      throws InterruptedException {
    long start = System.nanoTime();
    GuestProcess process;
    try {
      process = start(session, program, request);
    } catch (NotStarted failure) {
      return RunOutcome.notStarted(failure.exitCode, failure.text, since(start));
    }
    OutputPump stdout = OutputPump.start(process.stdout(), MAX_OUTPUT);
    OutputPump stderr = OutputPump.start(process.stderr(), MAX_OUTPUT);
    boolean ended = false;
    try (HttpExchange.DisconnectWatch _ = exchange.onDisconnect(() -> kill(process))) {
      program.input().ifPresent(input -> feed(process, input));
      Optional<ProcessExit> exit =
          RunClock.awaitExit(session.sandbox(), process, request.timeout());
      ended = true;
      if (exit.isPresent()) {
        drain(stdout, stderr);
      } else {
        kill(process);
        stdout.awaitEnd(KILLED_DRAIN);
        stderr.awaitEnd(KILLED_DRAIN);
      }
      return outcome(program, request, process, exit, stdout, stderr, since(start));
    } catch (GuestException lost) {
      if (!session.sandbox().isAlive()) {
        throw Gate.gone(session);
      }
      // It has run, so this is no 5xx: the clients would run it again.
      log.warn("The guest of {} was lost during a run", session.sandbox().id(), lost);
      ended = true;
      return lost(process, stdout, stderr, since(start));
    } finally {
      if (!ended) {
        kill(process);
      }
      if (stdout.isEnded() && stderr.isEnded()) {
        process.close();
      } else {
        session.leftovers().keep(process, stdout, stderr);
      }
    }
  }

  private static Duration since(long start) {
    return Duration.ofNanos(System.nanoTime() - start);
  }

  private static GuestProcess start(AgentSession session, Program program, RunRequest request)
      throws NotStarted {
    Map<String, String> environment = session.environment().forRun(request.environment());
    boolean directoryChecked = false;
    List<List<String>> lines = program.commandLines();
    int index = 0;
    while (index < lines.size()) {
      Spawn spawn = Spawn.of(lines.get(index), environment, request.workingDirectory().value());
      try {
        return session.guest().start(program.input().isPresent() ? spawn.withStdin() : spawn);
      } catch (GuestException failure) {
        switch (failure.kind()) {
          case NOT_FOUND, NOT_A_DIRECTORY, INVALID_PATH -> {
            // The program or the directory; to look first would cost every run a round trip.
            boolean made =
                !directoryChecked && WorkingDirectory.ensure(session, request.workingDirectory());
            directoryChecked = true;
            if (failure.kind() == GuestException.Kind.INVALID_PATH) {
              throw new NotStarted(
                  RunOutcome.NOT_RUNNABLE, program, "File name too long or a loop of links");
            }
            if (!made) {
              index++;
            }
          }
          case PERMISSION_DENIED ->
              throw new NotStarted(RunOutcome.NOT_RUNNABLE, program, "Permission denied");
          case IS_A_DIRECTORY ->
              throw new NotStarted(RunOutcome.NOT_RUNNABLE, program, "Is a directory");
          case NOT_EXECUTABLE ->
              throw new NotStarted(RunOutcome.NOT_RUNNABLE, program, "cannot execute");
          case TOO_LARGE ->
              throw new NotStarted(RunOutcome.NOT_RUNNABLE, program, "Argument list too long");
          case EXHAUSTED ->
              throw new NotStarted(
                  RunOutcome.NO_PROCESSES, program, "fork: Resource temporarily unavailable");
          default -> throw failure;
        }
      }
    }
    throw new NotStarted(
        RunOutcome.NOT_FOUND,
        program,
        program.name().contains("/") ? "No such file or directory" : "command not found");
  }

  private static void feed(GuestProcess process, byte[] input) {
    Thread.ofVirtual()
        .name("stdin")
        .start(
            () -> {
              try (OutputStream stdin = process.stdin()) {
                stdin.write(input);
              } catch (IOException | GuestException gone) {
                // A program may end without reading all of its input.
                log.trace("stdin was not read to its end", gone);
              }
            });
  }

  private static void drain(OutputPump stdout, OutputPump stderr) throws InterruptedException {
    long exited = System.nanoTime();
    drain(stdout, exited);
    drain(stderr, exited);
  }

  private static void drain(OutputPump pump, long exited) throws InterruptedException {
    long before = pump.total();
    while (!pump.awaitEnd(STEP)) {
      long now = System.nanoTime();
      if (now - exited < DRAIN.toNanos()) {
        continue;
      }
      if (now - pump.lastRead() > SILENCE.toNanos()
          || pump.total() - before > MAX_DRAIN_BYTES
          || now - exited > MAX_DRAIN.toNanos()) {
        return;
      }
    }
  }

  private static void kill(GuestProcess process) {
    try {
      process.killTree();
    } catch (GuestException failure) {
      log.warn("The processes of {} could not be killed", process.pid(), failure);
    }
  }

  private static RunOutcome outcome(
      Program program,
      RunRequest request,
      GuestProcess process,
      Optional<ProcessExit> exit,
      OutputPump stdout,
      OutputPump stderr,
      Duration duration) {
    BoundedOutput out = stdout.detach();
    BoundedOutput err = stderr.detach();
    String errors = program.errors().apply(err.text());
    return new RunOutcome(
        out.text(),
        exit.isPresent()
            ? errors
            : withLine(errors, "Execution timed out after " + seconds(request.timeout())),
        exit.map(ProcessExit::shellCode).orElse(RunOutcome.TIMED_OUT),
        exit.isEmpty(),
        out.isTruncated() || err.isTruncated(),
        duration,
        OptionalInt.of(process.pid()));
  }

  private static RunOutcome lost(
      GuestProcess process, OutputPump stdout, OutputPump stderr, Duration duration) {
    BoundedOutput out = stdout.detach();
    BoundedOutput err = stderr.detach();
    return new RunOutcome(
        out.text(),
        withLine(err.text(), "The connection to the machine was lost; the run was ended"),
        RunOutcome.KILLED,
        false,
        out.isTruncated() || err.isTruncated(),
        duration,
        OptionalInt.of(process.pid()));
  }

  static String withLine(String text, String line) {
    String separator = text.isEmpty() || text.endsWith("\n") ? "" : "\n";
    return text + separator + line + "\n";
  }

  static String seconds(Duration duration) {
    if (duration.equals(Duration.ofSeconds(1))) {
      return "1 second";
    }
    String number = Double.toString(duration.toMillis() / 1000.0);
    return (duration.toMillisPart() == 0 ? Long.toString(duration.toSeconds()) : number)
        + " seconds";
  }

  /** Nothing was started, as a shell would report it. */
  private static final class NotStarted extends Exception {
    private static final long serialVersionUID = 1;

    private final int exitCode;
    private final String text;

    NotStarted(int exitCode, Program program, String why) {
      super(why, null, false, false);
      this.exitCode = exitCode;
      this.text = program.name() + ": " + why;
    }
  }
}
