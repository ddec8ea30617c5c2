package dev.hopx.agent;

import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Reads one output stream of a process on a virtual thread of its own until its end. After {@link
 * #detach()} it goes on reading, but keeps nothing: what still holds the pipe then is never blocked
 * or killed by it.
 */
final class OutputPump {
  private static final int BUFFER = 32 << 10;

  private final InputStream stream;
  private final BoundedOutput output;
  private final ReentrantLock lock = new ReentrantLock();
  private final CountDownLatch ended = new CountDownLatch(1);
  private boolean detached;
  private long lastRead = System.nanoTime();
  private long total;

  private OutputPump(InputStream stream, int limit) {
    this.stream = stream;
    this.output = new BoundedOutput(limit);
  }

  static OutputPump start(InputStream stream, int limit) {
    OutputPump pump = new OutputPump(stream, limit);
    Thread.ofVirtual().name("output").start(pump::pump);
    return pump;
  }

  private void pump() {
    byte[] buffer = new byte[BUFFER];
    try {
      for (int count = stream.read(buffer); count >= 0; count = stream.read(buffer)) {
        keep(buffer, count);
      }
    } catch (IOException gone) {
      // The guest is lost or the process was let go: what was read until then is the output.
    } finally {
      ended.countDown();
    }
  }

  private void keep(byte[] buffer, int count) {
    lock.lock();
    try {
      if (!detached) {
        output.write(buffer, 0, count);
      }
      total += count;
      lastRead = System.nanoTime();
    } finally {
      lock.unlock();
    }
  }

  /** Takes the output as it is now; nothing read later is added to it. */
  BoundedOutput detach() {
    lock.lock();
    try {
      detached = true;
      return output;
    } finally {
      lock.unlock();
    }
  }

  boolean isEnded() {
    return ended.getCount() == 0;
  }

  boolean awaitEnd(Duration atMost) throws InterruptedException {
    return ended.await(atMost.toNanos(), TimeUnit.NANOSECONDS);
  }

  void awaitEnd() throws InterruptedException {
    ended.await();
  }

  /** Bytes read so far. */
  long total() {
    lock.lock();
    try {
      return total;
    } finally {
      lock.unlock();
    }
  }

  /** {@link System#nanoTime()} of the last byte. */
  long lastRead() {
    lock.lock();
    try {
      return lastRead;
    } finally {
      lock.unlock();
    }
  }
}
