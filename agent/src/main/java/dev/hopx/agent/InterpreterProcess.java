package dev.hopx.agent;

import dev.hopx.channel.Guest;
import dev.hopx.channel.GuestException;
import dev.hopx.channel.GuestProcess;
import dev.hopx.channel.ProcessExit;
import dev.hopx.channel.Spawn;
import dev.hopx.http.Json;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/**
 * A started interpreter. Its stdin takes requests, its stdout and stderr are the user's alone; its
 * answers come through the stdout of a second process, which was started to lend it and is gone by
 * then. Owns both and the threads that read them.
 *
 * <p>The answers come from a process that runs the user's code: they are bounded here and judged by
 * their reader.
 */
final class InterpreterProcess implements AutoCloseable {
  /** Of one answer: the largest rich output as base64, with room for the text around it. */
  static final int MAX_ANSWER = 34 << 20;

  /** Answers that wait to be taken; the interpreter waits when there are more. */
  private static final int MAX_WAITING = 8;

  /** More is written by a thread of its own: it could have to wait for the interpreter. */
  private static final int MAX_SMALL_REQUEST = 32 << 10;

  private static final int INTERRUPT = 2;

  /** Not of a run, but of the way it is run: the kernel takes PYTHONPATH from each request. */
  private static final String PYTHON_PATH = "PYTHONPATH";

  private static final Logger log = LoggerFactory.getLogger(InterpreterProcess.class);

  private final Guest guest;
  private final GuestProcess process;
  private final GuestProcess lender;
  private final MarkedOutput stdout;
  private final MarkedOutput stderr;
  private final BlockingQueue<Event> events = new LinkedBlockingQueue<>(MAX_WAITING);
  private final List<Thread> threads = new ArrayList<>();
  private volatile boolean ended;

  /** Nobody takes what is answered between runs. */
  private volatile boolean accepting = true;

  private InterpreterProcess(Guest guest, GuestProcess process, GuestProcess lender) {
    this.guest = guest;
    this.process = process;
    this.lender = lender;
    this.stdout = MarkedOutput.start(process.stdout(), ForegroundRunner.MAX_OUTPUT);
    this.stderr = MarkedOutput.start(process.stderr(), ForegroundRunner.MAX_OUTPUT);
    threads.add(Thread.ofVirtual().name("interpreter-answers").start(this::readAnswers));
    threads.add(Thread.ofVirtual().name("interpreter-exit").start(this::awaitExit));
  }

  /** Something that happened to the interpreter. */
  sealed interface Event {}

  /** A line it has answered. */
  record Answer(JsonNode content, int bytes) implements Event {}

  /** It has ended. */
  record Ended(ProcessExit exit) implements Event {}

  /** The connection to its machine is gone. */
  record Lost(GuestException cause) implements Event {}

  /** It does not keep to the protocol: the user's code has written to its answers. */
  record Broken(String why) implements Event {}

  /** The one who waits for the run has gone. */
  record CallerGone() implements Event {}

  /**
   * Starts it; the first event tells that it is ready or has failed.
   *
   * @throws GuestException {@code NOT_FOUND} when the image has no such program
   */
  static InterpreterProcess start(AgentSession session, InterpreterKind kind) {
    Map<String, String> environment = new LinkedHashMap<>(session.environment().forRun(Map.of()));
    environment.remove(PYTHON_PATH);
    Guest guest = session.guest();
    GuestProcess lender =
        guest.start(Spawn.of(List.of("/bin/sh", "-c", "read _"), environment, "/").withStdin());
    boolean success = false;
    try {
      InterpreterProcess started =
          new InterpreterProcess(
              guest, startProgram(guest, kind, environment, lender.pid()), lender);
      started.writeLarge(withLength(kind.kernel()));
      success = true;
      return started;
    } finally {
      if (!success) {
        end(lender);
      }
    }
  }

  private static GuestProcess startProgram(
      Guest guest, InterpreterKind kind, Map<String, String> environment, int lender) {
    GuestException missing = null;
    for (String program : kind.programs()) {
      List<String> line = new ArrayList<>();
      line.add(program);
      line.addAll(kind.options());
      line.add(Integer.toString(lender));
      try {
        return guest.start(
            Spawn.of(line, environment, "/").withStdin().withTag(Spawn.LONG_LIVED_TAG));
      } catch (GuestException failure) {
        if (failure.kind() != GuestException.Kind.NOT_FOUND) {
          throw failure;
        }
        missing = failure;
      }
    }
    if (missing == null) {
      throw new IllegalStateException("No program for " + kind);
    }
    throw missing;
  }

  private static byte[] withLength(byte[] kernel) {
    byte[] length = (kernel.length + "\n").getBytes(StandardCharsets.US_ASCII);
    byte[] all = new byte[length.length + kernel.length];
    System.arraycopy(length, 0, all, 0, length.length);
    System.arraycopy(kernel, 0, all, length.length, kernel.length);
    return all;
  }

  int pid() {
    return process.pid();
  }

  MarkedOutput stdout() {
    return stdout;
  }

  MarkedOutput stderr() {
    return stderr;
  }

  boolean isEnded() {
    return ended;
  }

  /** False for one of before the sandbox was stopped and started again. */
  @SuppressWarnings("ReferenceEquality")
  boolean isOf(Guest other) {
    return guest == other;
  }

  /** It holds the lender's output now. */
  void ready() {
    try {
      lender.stdin().close();
    } catch (IOException | GuestException gone) {
      log.trace("The lender has ended already", gone);
    }
  }

  /** A run is over: what is answered from now on is dropped. */
  void idle() {
    accepting = false;
  }

  /** A run begins: what was answered to earlier requests is forgotten. */
  void busy() {
    accepting = true;
    events.removeIf(event -> event instanceof Answer || event instanceof CallerGone);
  }

  void send(Map<String, Object> request) {
    byte[] json = Json.mapper().writeValueAsBytes(request);
    byte[] line = new byte[json.length + 1];
    System.arraycopy(json, 0, line, 0, json.length);
    line[json.length] = '\n';
    if (line.length <= MAX_SMALL_REQUEST) {
      write(line);
    } else {
      writeLarge(line);
    }
  }

  private void writeLarge(byte[] bytes) {
    Thread.ofVirtual().name("interpreter-request").start(() -> write(bytes));
  }

  private void write(byte[] bytes) {
    try {
      OutputStream stdin = process.stdin();
      stdin.write(bytes);
      stdin.flush();
    } catch (IOException | GuestException gone) {
      // That it has ended is an event of its own.
      log.trace("The interpreter does not read", gone);
    }
  }

  /** The next event; empty when there is none in time. */
  Optional<Event> next(Duration atMost) throws InterruptedException {
    return Optional.ofNullable(events.poll(atMost.toNanos(), TimeUnit.NANOSECONDS));
  }

  /** Ends the waiting for a run that nobody waits for any more. */
  void callerGone() {
    put(new CallerGone());
  }

  /** Asks it, and what it has started in the foreground, to stop. */
  void interrupt() {
    try {
      process.signal(INTERRUPT, true);
    } catch (GuestException gone) {
      log.trace("The interpreter could not be interrupted", gone);
    }
  }

  /** Kills it with everything it has started. */
  void kill() {
    try {
      process.killTree();
    } catch (GuestException failure) {
      log.warn("The interpreter {} could not be killed", process.pid(), failure);
    }
  }

  @Override
  public void close() {
    threads.forEach(Thread::interrupt);
    process.close();
    end(lender);
  }

  private static void end(GuestProcess lender) {
    try {
      lender.killTree();
    } catch (GuestException gone) {
      log.trace("The lender could not be killed", gone);
    }
    lender.close();
  }

  private void put(Event event) {
    try {
      events.put(event);
    } catch (InterruptedException closing) {
      Thread.currentThread().interrupt();
    }
  }

  private void awaitExit() {
    try {
      ProcessExit exit = process.awaitExit();
      ended = true;
      put(new Ended(exit));
    } catch (GuestException lost) {
      ended = true;
      put(new Lost(lost));
    } catch (InterruptedException closing) {
      Thread.currentThread().interrupt();
    }
  }

  private void accept(byte[] line) {
    if (line.length < 2 || line[0] != '{' || line[line.length - 1] != '}') {
      put(new Broken("an answer that is no JSON object"));
    } else if (accepting) {
      try {
        put(new Answer(Json.mapper().readTree(line), line.length));
      } catch (JacksonException malformed) {
        // A number of a thousand digits, say: one thing less to show.
        log.debug("An answer of {} bytes cannot be read", line.length, malformed);
      }
    }
  }

  private void readAnswers() {
    byte[] buffer = new byte[32 << 10];
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    try (InputStream answers = lender.stdout()) {
      for (int count = answers.read(buffer); count >= 0; count = answers.read(buffer)) {
        int from = 0;
        for (int i = 0; i < count; i++) {
          if (buffer[i] == '\n') {
            line.write(buffer, from, i - from);
            from = i + 1;
            accept(line.toByteArray());
            line.reset();
          }
        }
        line.write(buffer, from, count - from);
        if (line.size() > MAX_ANSWER) {
          put(new Broken("an answer of more than " + MAX_ANSWER + " bytes"));
          return;
        }
      }
    } catch (IOException gone) {
      log.trace("The interpreter's answers have ended", gone);
    }
  }
}
