package dev.hopx.channel;

import java.nio.ByteBuffer;

/**
 * Bytes of a history between two offsets that both only grow. Grows by doubling to what is really
 * held; the caller bounds that. Not thread-safe.
 */
final class ByteRing {
  private static final int SMALLEST = 1_024;
  private static final byte[] EMPTY = new byte[0];

  private byte[] bytes = EMPTY;

  /** Appends {@code source} at offset {@code tail}; [{@code head}, {@code tail}) is kept. */
  void put(long head, long tail, ByteBuffer source) {
    int count = source.remaining();
    reserve(head, tail, (int) (tail - head) + count);
    int index = index(tail);
    int first = Math.min(count, bytes.length - index);
    source.get(bytes, index, first);
    source.get(bytes, 0, count - first);
  }

  /** Copies what lies at {@code offset}. */
  void get(long offset, byte[] target, int start, int count) {
    if (count == 0) {
      return;
    }
    int index = index(offset);
    int first = Math.min(count, bytes.length - index);
    System.arraycopy(bytes, index, target, start, first);
    System.arraycopy(bytes, 0, target, start + first, count - first);
  }

  /** Forgets everything and gives its memory back. */
  void clear() {
    bytes = EMPTY;
  }

  int capacity() {
    return bytes.length;
  }

  private void reserve(long head, long tail, int needed) {
    if (needed <= bytes.length) {
      return;
    }
    int capacity = Math.max(SMALLEST, Integer.highestOneBit(Math.max(1, needed - 1)) << 1);
    byte[] grown = new byte[capacity];
    int held = (int) (tail - head);
    int target = (int) (head & (capacity - 1));
    int first = Math.min(held, capacity - target);
    get(head, grown, target, first);
    get(head + first, grown, 0, held - first);
    bytes = grown;
  }

  private int index(long offset) {
    return (int) (offset & (bytes.length - 1));
  }
}
