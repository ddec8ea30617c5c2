package dev.hopx.channel;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.GatheringByteChannel;
import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Frames on their way to one connection, written in order by one thread of its own. No caller ever
 * writes to the socket itself: an interrupt of a thread in the middle of a write would close the
 * socket for everyone. Thread-safe.
 */
final class Outbox {
  /** Bytes of paced frames (data, spawns, tasks) after which {@link #awaitRoom()} waits. */
  static final int ROOM = 524_288;

  /** Bytes of other frames that may wait for a guest that does not read. */
  static final int MAX_UNPACED = 4_194_304;

  private static final int MAX_BATCH = 16;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition filled = lock.newCondition();
  private final Condition drained = lock.newCondition();
  private final ArrayDeque<byte[]> frames = new ArrayDeque<>();
  private long paced;
  private long unpaced;
  private boolean closed;

  /**
   * Appends a frame and never blocks; ignored when closed.
   *
   * @return false when the guest has let too many frames pile up
   */
  boolean offer(byte[] frame) {
    lock.lock();
    try {
      if (closed) {
        return true;
      }
      frames.add(frame);
      if (isPaced(frame)) {
        paced += frame.length;
      } else {
        unpaced += frame.length;
      }
      filled.signal();
      return unpaced <= MAX_UNPACED;
    } finally {
      lock.unlock();
    }
  }

  /**
   * As {@link #awaitRoom()}, but at most {@code nanos}: a paused guest does not read.
   *
   * @return false when there is no room
   */
  boolean awaitRoom(long nanos) throws InterruptedException {
    long left = nanos;
    lock.lockInterruptibly();
    try {
      while (!closed && paced >= ROOM) {
        if (left <= 0) {
          return false;
        }
        left = drained.awaitNanos(left);
      }
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Waits until another paced frame may be offered; returns at once when closed. */
  void awaitRoom() throws InterruptedException {
    lock.lockInterruptibly();
    try {
      while (!closed && paced >= ROOM) {
        drained.await();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Writes until closed or the socket fails. Runs on the connection's writer thread. */
  void writeTo(GatheringByteChannel socket) throws IOException, InterruptedException {
    ByteBuffer[] batch = new ByteBuffer[MAX_BATCH];
    while (true) {
      int count = 0;
      long pacedBytes = 0;
      long unpacedBytes = 0;
      lock.lockInterruptibly();
      try {
        while (frames.isEmpty() && !closed) {
          filled.await();
        }
        if (closed) {
          return;
        }
        while (count < MAX_BATCH && !frames.isEmpty()) {
          byte[] frame = frames.remove();
          if (isPaced(frame)) {
            pacedBytes += frame.length;
          } else {
            unpacedBytes += frame.length;
          }
          batch[count++] = ByteBuffer.wrap(frame);
        }
      } finally {
        lock.unlock();
      }
      while (batch[count - 1].hasRemaining()) {
        socket.write(batch, 0, count);
      }
      lock.lock();
      try {
        paced -= pacedBytes;
        unpaced -= unpacedBytes;
        if (paced < ROOM) {
          drained.signalAll();
        }
      } finally {
        lock.unlock();
      }
    }
  }

  void close() {
    lock.lock();
    try {
      closed = true;
      frames.clear();
      filled.signalAll();
      drained.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private static boolean isPaced(byte[] frame) {
    int type = Frames.type(frame);
    return type == Protocol.DATA || type == Protocol.SPAWN || type == Protocol.TASK;
  }
}
