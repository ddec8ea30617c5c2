package dev.hopx.channel;

import java.nio.ByteBuffer;
import java.util.concurrent.ArrayBlockingQueue;

/**
 * Large buffers shared by all connections: only a connection in full flow needs one, and hundreds
 * of idle ones must not each hold it.
 */
final class ReadBuffers {
  static final int SIZE = 262_144;
  private static final int KEPT = 8;
  private static final ArrayBlockingQueue<ByteBuffer> FREE = new ArrayBlockingQueue<>(KEPT);

  private ReadBuffers() {}

  static ByteBuffer take() {
    ByteBuffer buffer = FREE.poll();
    return buffer != null ? buffer : ByteBuffer.allocateDirect(SIZE);
  }

  /** Takes a buffer back; when enough are kept it is left to the garbage collector. */
  static void give(ByteBuffer buffer) {
    FREE.offer(buffer.clear());
  }
}
