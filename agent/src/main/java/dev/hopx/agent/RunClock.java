package dev.hopx.agent;

import dev.hopx.channel.GuestProcess;
import dev.hopx.channel.ProcessExit;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The clock of a run's time-out. It stands still while the sandbox is paused: the clocks inside go
 * on even then, so they are of no use.
 */
final class RunClock {
  /** How soon the end of a pause is noticed. */
  private static final Duration PAUSED_STEP = Duration.ofMillis(50);

  private RunClock() {}

  /**
   * Waits until the process has ended.
   *
   * @param timeout of time in which the sandbox is not paused
   * @return empty when it runs on
   */
  static Optional<ProcessExit> awaitExit(
      AgentSandbox sandbox, GuestProcess process, Duration timeout) throws InterruptedException {
    return await(sandbox, timeout, process::awaitExit);
  }

  /**
   * Waits for something.
   *
   * @param timeout of time in which the sandbox is not paused
   * @return empty when it has not come
   */
  static <T> Optional<T> await(AgentSandbox sandbox, Duration timeout, Wait<T> something)
      throws InterruptedException {
    long limit = TimeUnit.NANOSECONDS.convert(timeout);
    long begin = now(sandbox);
    while (true) {
      boolean paused = sandbox.isPaused();
      long left = limit - (now(sandbox) - begin);
      if (left <= 0 && !paused) {
        return Optional.empty();
      }
      Optional<T> come = something.atMost(paused ? PAUSED_STEP : Duration.ofNanos(left));
      if (come.isPresent()) {
        return come;
      }
    }
  }

  /** Nanoseconds; only differences mean something, and only between two starts of the sandbox. */
  static long now(AgentSandbox sandbox) {
    return System.nanoTime() - TimeUnit.NANOSECONDS.convert(sandbox.pausedTime());
  }

  /** One wait of a bounded time; empty when nothing came. */
  interface Wait<T> {
    Optional<T> atMost(Duration time) throws InterruptedException;
  }
}
