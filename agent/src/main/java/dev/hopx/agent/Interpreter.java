package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.channel.GuestException;
import dev.hopx.channel.ProcessExit;
import dev.hopx.http.HttpExchange;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;

/**
 * The persistent interpreter of one language in one sandbox (decision 13). Started by its first
 * run; runs queue and go one after the other. A run that is cut off is interrupted; an interpreter
 * that does not yield, or that its user's code has ended, is replaced by the next run, and the
 * response says that its state is lost.
 */
final class Interpreter {
  /** Runs that wait for their turn; more are refused. */
  static final int MAX_QUEUE = 64;

  /** How long an interrupted run may take to give way. */
  static final Duration YIELD = Duration.ofMillis(1500);

  /** Code that catches the first interrupt gets another one. */
  private static final Duration INTERRUPT_AGAIN = Duration.ofMillis(300);

  private static final Duration START = Duration.ofSeconds(60);

  /** The mark stands before the answer in time; only a thread may be late. */
  private static final Duration MARK = Duration.ofSeconds(5);

  private static final Duration STEP = Duration.ofMillis(30);

  /** How long output may flow on from what a dead interpreter has left in its pipes. */
  private static final Duration MAX_DRAIN = Duration.ofSeconds(2);

  /** Bounds what a forged stream of answers can make the host hold in one run. */
  private static final int MAX_RICH_OUTPUTS = 200;

  /** Bytes of them: a little more than an honest kernel sends. */
  private static final long MAX_RICH_BYTES = 64 << 20;

  private static final SecureRandom RANDOM = new SecureRandom();
  private static final Logger log = LoggerFactory.getLogger(Interpreter.class);

  private final AgentSession session;
  private final InterpreterKind kind;
  private final InterpreterNote note;
  private final ReentrantLock turn = new ReentrantLock(true);
  private final AtomicInteger queued = new AtomicInteger();
  private @Nullable InterpreterProcess process;
  private long lastId;

  Interpreter(AgentSession session, InterpreterKind kind) {
    this.session = session;
    this.kind = kind;
    this.note = new InterpreterNote(session.sandbox().stateDirectory(), kind);
  }

  /**
   * Runs code after all that came before.
   *
   * @throws ApiException 429 when too many runs wait, 400 when there is no such directory
   */
  InterpreterOutcome run(HttpExchange exchange, String code, RunRequest request)
      throws InterruptedException {
    Caller caller = new Caller();
    if (queued.incrementAndGet() > MAX_QUEUE + 1) {
      queued.decrementAndGet();
      exchange.responseHeader("Retry-After", "1");
      throw new ApiException(
          ErrorCode.RATE_LIMIT_EXCEEDED,
          "Too many runs wait for the " + kind.title() + " interpreter; try again later",
          Map.of("limit", MAX_QUEUE, "retry_after", 1));
    }
    try (HttpExchange.DisconnectWatch _ = exchange.onDisconnect(caller::leave)) {
      turn.lockInterruptibly();
      try {
        return caller.isGone() ? nothingRun() : runWatched(caller, code, request);
      } finally {
        turn.unlock();
      }
    } finally {
      queued.decrementAndGet();
    }
  }

  private static InterpreterOutcome nothingRun() {
    return InterpreterOutcome.plain(
        RunOutcome.notStarted(RunOutcome.KILLED, "The caller has gone", Duration.ZERO), false);
  }

  private InterpreterOutcome runWatched(Caller caller, String code, RunRequest request)
      throws InterruptedException {
    try (MemoryWatch.Run memory = session.memory().begin()) {
      return runNext(caller, code, request).judged(memory);
    }
  }

  private InterpreterOutcome runNext(Caller caller, String code, RunRequest request)
      throws InterruptedException {
    long start = System.nanoTime();
    Map<String, String> environment = session.environment().forRun(request.environment());
    boolean lostBefore = false;
    InterpreterProcess current = process;
    if (current != null && (current.isEnded() || !current.isOf(session.guest()))) {
      discard(current, false);
      current = null;
    }
    if (current == null) {
      lostBefore = note.isThere();
      Started started = start();
      if (started.failure().isPresent()) {
        note.remove();
        return InterpreterOutcome.plain(started.failure().get().apply(since(start)), lostBefore);
      }
      current = started.process().orElseThrow();
      process = current;
      note.write();
    }
    boolean settled = false;
    try {
      caller.watches(current);
      InterpreterOutcome outcome =
          new Run(current, caller, request, lostBefore).of(code, environment);
      settled = true;
      return outcome;
    } catch (ApiException refused) {
      settled = true;
      throw refused;
    } finally {
      caller.watches(null);
      if (!settled) {
        discard(current, true);
      }
    }
  }

  private static Duration since(long start) {
    return Duration.ofNanos(System.nanoTime() - start);
  }

  /** Lets go of the interpreter of a sandbox that is deleted. Does not wait for a run to end. */
  void close() {
    Thread.ofVirtual()
        .name("interpreter-close")
        .start(
            () -> {
              turn.lock();
              try {
                InterpreterProcess old = process;
                if (old != null) {
                  discard(old, false);
                }
              } finally {
                turn.unlock();
              }
            });
  }

  private Started start() throws InterruptedException {
    InterpreterProcess starting;
    try {
      starting = InterpreterProcess.start(session, kind);
    } catch (GuestException failure) {
      return switch (failure.kind()) {
        case NOT_FOUND -> Started.not(RunOutcome.NOT_FOUND, kind, "command not found");
        case PERMISSION_DENIED -> Started.not(RunOutcome.NOT_RUNNABLE, kind, "Permission denied");
        case NOT_EXECUTABLE, IS_A_DIRECTORY ->
            Started.not(RunOutcome.NOT_RUNNABLE, kind, "cannot execute");
        case EXHAUSTED ->
            Started.not(RunOutcome.NO_PROCESSES, kind, "fork: Resource temporarily unavailable");
        default -> throw failure;
      };
    }
    boolean ready = false;
    try {
      starting.stdout().begin(mark());
      starting.stderr().begin(mark());
      Optional<InterpreterProcess.Event> first =
          RunClock.await(session.sandbox(), START, starting::next);
      if (first.isPresent() && first.get() instanceof InterpreterProcess.Answer) {
        starting.ready();
        ready = true;
        return Started.as(starting);
      }
      if (first.isPresent() && first.get() instanceof InterpreterProcess.Lost lost) {
        throw lost.cause();
      }
      starting.kill();
      starting.stderr().awaitEnd(MAX_DRAIN);
      String why = starting.stderr().take().text();
      return Started.not(
          RunOutcome.NOT_RUNNABLE, kind, "the interpreter could not be started\n" + why);
    } finally {
      if (!ready) {
        starting.close();
      }
    }
  }

  private void discard(InterpreterProcess old, boolean kill) {
    if (kill) {
      old.kill();
    }
    old.close();
    if (process == old) {
      process = null;
    }
  }

  /** Its first byte occurs once, and nobody can print it by accident. */
  private static byte[] mark() {
    byte[] random = new byte[16];
    RANDOM.nextBytes(random);
    return ("\0hopx:" + HexFormat.of().formatHex(random) + "\n")
        .getBytes(StandardCharsets.US_ASCII);
  }

  /** The one who waits for a run; it may go at any time. */
  private static final class Caller {
    private final ReentrantLock lock = new ReentrantLock();
    private @Nullable InterpreterProcess watched;
    private boolean gone;

    void leave() {
      InterpreterProcess told;
      lock.lock();
      try {
        gone = true;
        told = watched;
      } finally {
        lock.unlock();
      }
      if (told != null) {
        told.callerGone();
      }
    }

    boolean isGone() {
      lock.lock();
      try {
        return gone;
      } finally {
        lock.unlock();
      }
    }

    void watches(@Nullable InterpreterProcess next) {
      lock.lock();
      try {
        watched = next;
      } finally {
        lock.unlock();
      }
    }
  }

  /** An interpreter, or why there is none. */
  private record Started(
      Optional<InterpreterProcess> process,
      Optional<java.util.function.Function<Duration, RunOutcome>> failure) {
    static Started as(InterpreterProcess process) {
      return new Started(Optional.of(process), Optional.empty());
    }

    static Started not(int exitCode, InterpreterKind kind, String why) {
      return new Started(
          Optional.empty(),
          Optional.of(
              duration -> RunOutcome.notStarted(exitCode, kind.program() + ": " + why, duration)));
    }
  }

  /** One run. */
  private final class Run {
    private final InterpreterProcess current;
    private final Caller caller;
    private final RunRequest request;
    private final boolean lostBefore;
    private final long start = System.nanoTime();
    private final List<RichOutput> richOutputs = new ArrayList<>();
    private long richBytes;
    private boolean timedOut;
    private boolean callerGone;
    private boolean directoryMade;

    Run(InterpreterProcess current, Caller caller, RunRequest request, boolean lostBefore) {
      this.current = current;
      this.caller = caller;
      this.request = request;
      this.lostBefore = lostBefore;
    }

    InterpreterOutcome of(String code, Map<String, String> environment)
        throws InterruptedException {
      byte[] mark = mark();
      Map<String, Object> message = new LinkedHashMap<>();
      message.put("code", code);
      message.put("environment", environment);
      message.put("directory", request.workingDirectory().value());
      message.put("mark", new String(mark, StandardCharsets.US_ASCII));
      send(message, mark);
      Duration left = request.timeout();
      if (caller.isGone()) {
        current.callerGone();
      }
      while (true) {
        long before = RunClock.now(session.sandbox());
        Optional<InterpreterProcess.Event> event =
            RunClock.await(session.sandbox(), left, current::next);
        if (event.isEmpty()) {
          if (interrupting()) {
            current.kill();
            return replaced(RunOutcome.KILLED, Optional.empty());
          }
          timedOut |= !callerGone;
          left = interruptAgain();
          continue;
        }
        left = left.minusNanos(RunClock.now(session.sandbox()) - before);
        switch (event.get()) {
          case InterpreterProcess.CallerGone _ -> {
            callerGone = true;
            left = interruptAgain();
          }
          case InterpreterProcess.Ended ended -> {
            return replaced(ended.exit().shellCode(), Optional.of(ended.exit()));
          }
          case InterpreterProcess.Lost lost -> {
            return lost(lost.cause());
          }
          case InterpreterProcess.Broken broken -> {
            log.info("{}: {} has sent {}", session.sandbox().id(), kind.title(), broken.why());
            current.kill();
            return replaced(RunOutcome.KILLED, Optional.empty());
          }
          case InterpreterProcess.Answer answer -> {
            Optional<InterpreterOutcome> outcome = answered(answer, message, mark);
            if (outcome.isPresent()) {
              return outcome.get();
            }
          }
        }
      }
    }

    private boolean interrupted;
    private long interruptEnd;

    private boolean interrupting() {
      return interrupted && RunClock.now(session.sandbox()) - interruptEnd >= 0;
    }

    /** Interrupts; gives the time to wait for an effect. */
    private Duration interruptAgain() {
      long now = RunClock.now(session.sandbox());
      if (!interrupted) {
        interrupted = true;
        interruptEnd = now + YIELD.toNanos();
      }
      current.interrupt();
      return Duration.ofNanos(Math.min(interruptEnd - now, INTERRUPT_AGAIN.toNanos()));
    }

    private void send(Map<String, Object> message, byte[] mark) {
      lastId++;
      message.put("id", lastId);
      current.busy();
      current.stdout().begin(mark);
      current.stderr().begin(mark);
      current.send(message);
    }

    private Optional<InterpreterOutcome> answered(
        InterpreterProcess.Answer answer, Map<String, Object> message, byte[] mark)
        throws InterruptedException {
      JsonNode content = answer.content();
      if (content.path("id").asLong(0) != lastId) {
        return Optional.empty();
      }
      return switch (content.path("kind").asString("")) {
        case "rich" -> {
          richBytes += answer.bytes();
          if (richOutputs.size() < MAX_RICH_OUTPUTS && richBytes <= MAX_RICH_BYTES) {
            RichOutput.parse(content).ifPresent(richOutputs::add);
          }
          yield Optional.empty();
        }
        case "directory" -> {
          if (directoryMade || !WorkingDirectory.ensure(session, request.workingDirectory())) {
            throw ApiException.invalidField(
                "workdir", request.workingDirectory().value() + " cannot be entered");
          }
          directoryMade = true;
          send(message, mark);
          yield Optional.empty();
        }
        case "done" -> Optional.of(done(content));
        default -> Optional.empty();
      };
    }

    private InterpreterOutcome done(JsonNode answer) throws InterruptedException {
      current.idle();
      awaitMark(current.stdout());
      awaitMark(current.stderr());
      boolean wasInterrupted = answer.path("interrupted").asBoolean(false);
      boolean restart = answer.path("restart").asBoolean(false);
      if (restart) {
        discardAndTell(true);
      }
      // One that ended by itself at the last moment has not timed out.
      timedOut &= wasInterrupted;
      Optional<String> result =
          Optional.ofNullable(answer.get("result"))
              .filter(JsonNode::isString)
              .map(JsonNode::stringValue);
      int code = timedOut ? RunOutcome.TIMED_OUT : answer.path("code").asInt(1);
      return new InterpreterOutcome(
          outcome(code, restart), result, richOutputs, lostBefore || restart);
    }

    /** The interpreter is gone and with it what it knew; the next run starts another one. */
    private InterpreterOutcome replaced(int code, Optional<ProcessExit> exit)
        throws InterruptedException {
      drain(current.stdout());
      drain(current.stderr());
      discardAndTell(true);
      boolean killed =
          exit.isPresent()
              && exit.get().signal().isPresent()
              && exit.get().signal().getAsInt() == 9;
      RunOutcome outcome =
          timedOut
              ? outcome(RunOutcome.TIMED_OUT, true)
              : outcome(
                  code,
                  (killed ? "Killed: most likely the machine's memory limit was reached; " : "")
                      + replacedText());
      return new InterpreterOutcome(outcome, Optional.empty(), richOutputs, true);
    }

    private InterpreterOutcome lost(GuestException cause) {
      discardAndTell(false);
      if (!session.sandbox().isAlive()) {
        throw Gate.gone(session);
      }
      // It may have run, so this is no 5xx: the clients would run it again.
      log.warn("The guest of {} was lost during a run", session.sandbox().id(), cause);
      RunOutcome outcome =
          outcome(RunOutcome.KILLED, "The connection to the machine was lost; the run was ended");
      return new InterpreterOutcome(outcome, Optional.empty(), richOutputs, true);
    }

    /** It ends, and the caller is told that its state is lost, unless there is none any more. */
    private void discardAndTell(boolean kill) {
      discard(current, kill);
      if (!caller.isGone()) {
        note.remove();
      }
    }

    private void awaitMark(MarkedOutput output) throws InterruptedException {
      var _ =
          RunClock.await(
              session.sandbox(),
              MARK,
              time -> output.awaitMark(time) ? Optional.of(output) : Optional.empty());
    }

    private void drain(MarkedOutput output) throws InterruptedException {
      long began = System.nanoTime();
      long before = -1;
      // Its children may hold the pipe for ever: silence is the end as well.
      while (!output.awaitEnd(STEP)
          && output.total() != before
          && System.nanoTime() - began < MAX_DRAIN.toNanos()) {
        before = output.total();
      }
    }

    private String replacedText() {
      return "the " + kind.title() + " interpreter has ended: its variables and imports are lost";
    }

    private RunOutcome outcome(int code, boolean replaced) {
      String line = "";
      if (timedOut) {
        line = "Execution timed out after " + ForegroundRunner.seconds(request.timeout());
      }
      if (replaced) {
        line = line.isEmpty() ? replacedText() : line + "; " + replacedText();
      } else if (lostBefore) {
        String before =
            "Note: this is a new " + kind.title() + " interpreter; earlier variables are lost";
        line = line.isEmpty() ? before : before + "\n" + line;
      }
      return outcome(code, line);
    }

    private RunOutcome outcome(int code, String line) {
      BoundedOutput out = current.stdout().take();
      BoundedOutput err = current.stderr().take();
      String errors = err.text();
      return new RunOutcome(
          out.text(),
          line.isEmpty() ? errors : ForegroundRunner.withLine(errors, line),
          code,
          timedOut,
          out.isTruncated() || err.isTruncated(),
          since(start),
          OptionalInt.of(current.pid()));
    }
  }
}
