package dev.hopx.node;

import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removals nobody has to wait for: directories with any number of files, network links. Owns one
 * thread, which does them in order and tries again what fails. What is left at the end is found by
 * the next start.
 */
final class DeferredRemovals implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(DeferredRemovals.class);
  private static final Duration RETRY_PAUSE = Duration.ofSeconds(1);

  private record Removal(String what, Runnable action) {}

  private final BlockingQueue<Removal> queue = new LinkedBlockingQueue<>();
  private final AtomicInteger pending = new AtomicInteger();
  private final Thread thread;

  DeferredRemovals() {
    thread = Thread.ofVirtual().name("node-removals").start(this::work);
  }

  /**
   * @param action must be idempotent; called until it does not throw
   */
  void add(String what, Runnable action) {
    pending.incrementAndGet();
    queue.add(new Removal(what, action));
  }

  /** True when all is done within {@code timeout}. */
  boolean awaitAll(Duration timeout) {
    long deadline = System.nanoTime() + timeout.toNanos();
    try {
      while (pending.get() > 0) {
        if (System.nanoTime() - deadline > 0) {
          return false;
        }
        Thread.sleep(2);
      }
      return true;
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private void work() {
    try {
      while (true) {
        attempt(queue.take());
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private void attempt(Removal removal) throws InterruptedException {
    try {
      removal.action().run();
      pending.decrementAndGet();
    } catch (RuntimeException e) {
      LOG.warn("Cannot remove {} yet: {}", removal.what(), e.getMessage());
      TimeUnit.NANOSECONDS.sleep(RETRY_PAUSE.toNanos());
      queue.add(removal);
    }
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
