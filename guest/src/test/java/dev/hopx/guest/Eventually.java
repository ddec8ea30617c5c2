package dev.hopx.guest;

import java.time.Duration;

/** Repeats an assertion until it holds. */
final class Eventually {
  private static final Duration LIMIT = Duration.ofSeconds(10);
  private static final Duration STEP = Duration.ofMillis(20);

  private Eventually() {}

  static void check(Assertion assertion) {
    long end = System.nanoTime() + LIMIT.toNanos();
    while (true) {
      try {
        assertion.run();
        return;
      } catch (AssertionError e) {
        if (System.nanoTime() > end) {
          throw e;
        }
      } catch (Exception e) {
        throw new AssertionError(e);
      }
      try {
        Thread.sleep(STEP);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new AssertionError("interrupted", e);
      }
    }
  }

  interface Assertion {
    void run() throws Exception;
  }
}
