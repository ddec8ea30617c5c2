package dev.hopx.control;

import java.time.Duration;
import java.time.InstantSource;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks at the store again and again and does what is due. What the store says is the truth; that
 * the next look comes early when an expiry is near is only a hint. Owns its thread, on which all of
 * the service's periodic methods run, one after another.
 */
final class SandboxSweeper implements AutoCloseable {
  static final Duration INTERVAL = Duration.ofSeconds(1);
  static final Duration RETRY_INTERVAL = Duration.ofSeconds(10);
  static final Duration FORGET_INTERVAL = Duration.ofMinutes(1);

  private static final Logger log = LoggerFactory.getLogger(SandboxSweeper.class);

  private final SandboxService service;
  private final InstantSource clock;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition woken = lock.newCondition();
  private boolean wake;
  private boolean closed;
  private @Nullable Thread thread;

  SandboxSweeper(SandboxService service, InstantSource clock) {
    this.service = service;
    this.clock = clock;
  }

  void start() {
    lock.lock();
    try {
      if (closed || thread != null) {
        throw new IllegalStateException("Start once, before close");
      }
      thread = Thread.ofVirtual().name("sandbox-sweeper").start(this::loop);
    } finally {
      lock.unlock();
    }
  }

  /** Makes the next look consider an expiry that may come earlier than those known. */
  void expiryChanged() {
    lock.lock();
    try {
      wake = true;
      woken.signalAll();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void close() {
    Thread running;
    lock.lock();
    try {
      closed = true;
      woken.signalAll();
      running = thread;
    } finally {
      lock.unlock();
    }
    if (running != null) {
      try {
        running.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void loop() {
    long begun = System.nanoTime();
    long nextSweep = begun;
    long nextRetry = begun + RETRY_INTERVAL.toNanos();
    long nextForget = begun;
    while (sleepUntil(nextSweep)) {
      attempt("expire", service::expire);
      long now = System.nanoTime();
      if (now - nextSweep >= 0) {
        attempt("make sandboxes what they should be", service.lifecycle()::converge);
        nextSweep = now + INTERVAL.toNanos();
      }
      if (now - nextRetry >= 0) {
        attempt("finish deletions", service::finishDeletions);
        nextRetry = now + RETRY_INTERVAL.toNanos();
      }
      if (now - nextForget >= 0) {
        attempt("forget", service::forget);
        nextForget = now + FORGET_INTERVAL.toNanos();
      }
    }
  }

  /** Returns when it is time or an expiry has come, false once closed. */
  private boolean sleepUntil(long nanoTime) {
    lock.lock();
    try {
      while (!closed) {
        long left = nanoTime - System.nanoTime();
        long untilExpiry = nanosUntilExpiry();
        if (left <= 0 || untilExpiry <= 0) {
          return true;
        }
        wake = false;
        while (!wake && !closed && left > 0 && untilExpiry > 0) {
          long before = System.nanoTime();
          woken.await(Math.min(left, untilExpiry), TimeUnit.NANOSECONDS);
          long slept = System.nanoTime() - before;
          left -= slept;
          untilExpiry -= slept;
        }
      }
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      lock.unlock();
    }
  }

  private long nanosUntilExpiry() {
    try {
      return service
          .nextExpiry()
          .map(next -> Duration.between(clock.instant(), next))
          // Far away is as good as never, and would overflow.
          .map(wait -> wait.compareTo(INTERVAL) > 0 ? Long.MAX_VALUE : wait.toNanos())
          .orElse(Long.MAX_VALUE);
    } catch (RuntimeException e) {
      log.error("The next expiry could not be read", e);
      return Long.MAX_VALUE;
    }
  }

  private static void attempt(String what, Runnable work) {
    try {
      work.run();
    } catch (RuntimeException e) {
      log.error("Could not {}; the next sweep tries again", what, e);
    }
  }
}
