package dev.hopx.node;

import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;

/** Adds up the time a sandbox is paused, for clocks that must stand still meanwhile. */
final class PauseTimer {
  private final ReentrantLock lock = new ReentrantLock();
  private boolean paused;
  private long since;
  private long total;

  void begin() {
    lock.lock();
    try {
      if (!paused) {
        paused = true;
        since = System.nanoTime();
      }
    } finally {
      lock.unlock();
    }
  }

  void end() {
    lock.lock();
    try {
      if (paused) {
        paused = false;
        total += System.nanoTime() - since;
      }
    } finally {
      lock.unlock();
    }
  }

  boolean isPaused() {
    lock.lock();
    try {
      return paused;
    } finally {
      lock.unlock();
    }
  }

  /** All pauses until now, the present one as well. */
  Duration total() {
    lock.lock();
    try {
      return Duration.ofNanos(paused ? total + System.nanoTime() - since : total);
    } finally {
      lock.unlock();
    }
  }
}
