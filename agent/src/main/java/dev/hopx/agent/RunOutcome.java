package dev.hopx.agent;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.OptionalInt;

/**
 * How a run went; failing is a result like any other (decision 1).
 *
 * @param exitCode as a shell gives it
 * @param pid as the sandbox sees it; empty when nothing could be started
 * @param oomKilled true when the kernel killed a process of it for want of memory
 */
record RunOutcome(
    String stdout,
    String stderr,
    int exitCode,
    boolean timedOut,
    boolean truncated,
    Duration duration,
    OptionalInt pid,
    boolean oomKilled) {
  /** Of a run that was ended by its time-out, as of {@code timeout(1)}. */
  static final int TIMED_OUT = 124;

  /** Of a program that is there and cannot be run. */
  static final int NOT_RUNNABLE = 126;

  static final int NOT_FOUND = 127;

  /** Of a shell that cannot fork. */
  static final int NO_PROCESSES = 254;

  /** Of a run that was killed from outside: 128 + SIGKILL. */
  static final int KILLED = 137;

  RunOutcome(
      String stdout,
      String stderr,
      int exitCode,
      boolean timedOut,
      boolean truncated,
      Duration duration,
      OptionalInt pid) {
    this(stdout, stderr, exitCode, timedOut, truncated, duration, pid, false);
  }

  /**
   * The same, in which a process was killed at the sandbox's limit.
   *
   * @param limitMib the limit in MiB
   */
  RunOutcome outOfMemory(int limitMib) {
    String separator = stderr.isEmpty() || stderr.endsWith("\n") ? "" : "\n";
    String line =
        "Out of memory: a process was killed at the sandbox's limit of %d MiB\n"
            .formatted(limitMib);
    return new RunOutcome(
        stdout, stderr + separator + line, exitCode, timedOut, truncated, duration, pid, true);
  }

  static RunOutcome notStarted(int exitCode, String why, Duration duration) {
    return new RunOutcome("", why + "\n", exitCode, false, false, duration, OptionalInt.empty());
  }

  /** Puts the fields that every run's response has. */
  void describe(Map<String, Object> reply) {
    reply.put("success", exitCode == 0 && !timedOut);
    reply.put("stdout", stdout);
    reply.put("stderr", stderr);
    reply.put("exit_code", exitCode);
    reply.put("execution_time", Math.round(duration.toNanos() / 1e3) / 1e6);
    reply.put("timed_out", timedOut);
    reply.put("truncated", truncated);
    reply.put("oom_killed", oomKilled);
    reply.put("timestamp", Instant.now());
  }
}
