package dev.hopx.agent;

import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One output of an interpreter, which serves run after run. What belongs to a run is what comes
 * between {@link #begin} and the run's mark; what comes between runs is read and dropped, so that
 * nobody who holds the pipe is ever blocked. Reads on a virtual thread of its own until the end.
 */
final class MarkedOutput {
  private static final int BUFFER = 32 << 10;

  private final InputStream stream;
  private final int limit;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private @Nullable BoundedOutput output;
  private byte[] mark = new byte[0];

  /** Bytes of the mark seen at the end of what has been read. */
  private int matched;

  private boolean marked;
  private boolean ended;
  private long total;

  private MarkedOutput(InputStream stream, int limit) {
    this.stream = stream;
    this.limit = limit;
  }

  static MarkedOutput start(InputStream stream, int limit) {
    MarkedOutput output = new MarkedOutput(stream, limit);
    Thread.ofVirtual().name("interpreter-output").start(output::pump);
    return output;
  }

  private void pump() {
    byte[] buffer = new byte[BUFFER];
    try {
      for (int count = stream.read(buffer); count >= 0; count = stream.read(buffer)) {
        accept(buffer, count);
      }
    } catch (IOException gone) {
      // The guest is lost or the process was let go: what was read until then is the output.
    } finally {
      lock.lock();
      try {
        ended = true;
        changed.signalAll();
      } finally {
        lock.unlock();
      }
    }
  }

  private void accept(byte[] bytes, int count) {
    lock.lock();
    try {
      total += count;
      BoundedOutput current = output;
      if (current != null && !marked) {
        scan(current, bytes, count);
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  /** The mark's first byte is nowhere else in it, so a match that fails starts at most anew. */
  private void scan(BoundedOutput current, byte[] bytes, int count) {
    int from = 0;
    for (int i = 0; i < count; i++) {
      if (matched > 0 && bytes[i] == mark[matched]) {
        matched++;
        if (matched == mark.length) {
          marked = true;
          return;
        }
        continue;
      }
      if (matched > 0) {
        current.write(mark, 0, matched);
        matched = 0;
        from = i;
      }
      if (bytes[i] == mark[0]) {
        current.write(bytes, from, i - from);
        matched = 1;
      }
    }
    if (matched == 0) {
      current.write(bytes, from, count - from);
    }
  }

  /**
   * From now on what is read belongs to a run.
   *
   * @param ofRun at least two bytes, of which the first occurs once
   */
  void begin(byte[] ofRun) {
    lock.lock();
    try {
      output = new BoundedOutput(limit);
      mark = ofRun.clone();
      matched = 0;
      marked = false;
    } finally {
      lock.unlock();
    }
  }

  /** Waits for the run's mark or the end of the stream; false when neither came in time. */
  boolean awaitMark(Duration atMost) throws InterruptedException {
    return await(atMost, true);
  }

  boolean awaitEnd(Duration atMost) throws InterruptedException {
    return await(atMost, false);
  }

  private boolean await(Duration atMost, boolean mark) throws InterruptedException {
    long left = atMost.toNanos();
    lock.lock();
    try {
      while (!ended && !(mark && marked)) {
        if (left <= 0) {
          return false;
        }
        left = changed.awaitNanos(left);
      }
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Bytes read in the life of the stream. */
  long total() {
    lock.lock();
    try {
      return total;
    } finally {
      lock.unlock();
    }
  }

  /** Takes the output of the run; nothing read later is added to it. */
  BoundedOutput take() {
    lock.lock();
    try {
      BoundedOutput taken = output == null ? new BoundedOutput(limit) : output;
      if (!marked && matched > 0) {
        taken.write(mark, 0, matched);
      }
      output = null;
      return taken;
    } finally {
      lock.unlock();
    }
  }
}
