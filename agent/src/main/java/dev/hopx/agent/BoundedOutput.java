package dev.hopx.agent;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;

/**
 * What a program wrote to one stream, of which at most {@code limit} bytes are kept: the first half
 * and the last half (decision 18). Memory grows with what was written and never beyond the limit.
 * Not thread-safe.
 */
final class BoundedOutput {
  private static final int FIRST_CAPACITY = 8 << 10;

  /** Bytes of UTF-8 that may follow the first one of a character. */
  private static final int MAX_CONTINUATIONS = 3;

  private final int headLimit;
  private final int tailLimit;
  private byte[] head = new byte[0];
  private byte[] tail = new byte[0];
  private int headLength;
  private int tailLength;

  /** Where the next byte goes; behind it, once the tail is full, stands the oldest. */
  private int tailPosition;

  private long total;

  /**
   * @param limit bytes, at least 2
   */
  BoundedOutput(int limit) {
    if (limit < 2) {
      throw new IllegalArgumentException("The limit must be at least 2 bytes");
    }
    headLimit = limit / 2;
    tailLimit = limit - headLimit;
  }

  void write(byte[] bytes, int offset, int length) {
    total += length;
    int toHead = Math.min(length, headLimit - headLength);
    if (toHead > 0) {
      head = withRoom(head, headLength + toHead, headLimit);
      System.arraycopy(bytes, offset, head, headLength, toHead);
      headLength += toHead;
    }
    writeTail(bytes, offset + toHead, length - toHead);
  }

  private void writeTail(byte[] bytes, int offset, int length) {
    // Of more than fits only the end can stay.
    int skipped = Math.max(0, length - tailLimit);
    int from = offset + skipped;
    int left = length - skipped;
    if (tailLength < tailLimit) {
      tail = withRoom(tail, Math.min(tailLimit, tailLength + left), tailLimit);
    }
    while (left > 0) {
      int count = Math.min(left, tailLimit - tailPosition);
      System.arraycopy(bytes, from, tail, tailPosition, count);
      tailPosition = (tailPosition + count) % tailLimit;
      tailLength = Math.min(tailLimit, tailLength + count);
      from += count;
      left -= count;
    }
  }

  private static byte[] withRoom(byte[] array, int wanted, int limit) {
    if (array.length >= wanted) {
      return array;
    }
    long grown = Math.max(wanted, Math.max(FIRST_CAPACITY, array.length * 2L));
    return Arrays.copyOf(array, (int) Math.min(limit, grown));
  }

  boolean isTruncated() {
    return total > headLength + (long) tailLength;
  }

  /** Bytes written, kept or not. */
  long total() {
    return total;
  }

  /**
   * The output as text. What is no UTF-8 becomes U+FFFD; where something was left out no character
   * is split and a line says how much.
   */
  String text() {
    byte[] end = orderedTail();
    if (!isTruncated()) {
      byte[] all = Arrays.copyOf(head, headLength + end.length);
      System.arraycopy(end, 0, all, headLength, end.length);
      return new String(all, StandardCharsets.UTF_8);
    }
    int headEnd = wholeCharacters(head, headLength);
    int tailStart = firstCharacter(end);
    return new String(head, 0, headEnd, StandardCharsets.UTF_8)
        + String.format(
            Locale.ROOT, "\n[… %d bytes left out …]\n", total - headEnd - (end.length - tailStart))
        + new String(end, tailStart, end.length - tailStart, StandardCharsets.UTF_8);
  }

  private byte[] orderedTail() {
    if (tailLength < tailLimit) {
      return Arrays.copyOf(tail, tailLength);
    }
    byte[] ordered = new byte[tailLimit];
    System.arraycopy(tail, tailPosition, ordered, 0, tailLimit - tailPosition);
    System.arraycopy(tail, 0, ordered, tailLimit - tailPosition, tailPosition);
    return ordered;
  }

  /** The length without a character that is cut off at the end. */
  private static int wholeCharacters(byte[] bytes, int length) {
    int back = 0;
    while (back < MAX_CONTINUATIONS && back < length && isContinuation(bytes[length - 1 - back])) {
      back++;
    }
    if (back == length) {
      return length;
    }
    int lead = bytes[length - 1 - back] & 0xFF;
    int wanted = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
    return wanted > back ? length - 1 - back : length;
  }

  /** Where the first whole character starts. */
  private static int firstCharacter(byte[] bytes) {
    int start = 0;
    while (start < MAX_CONTINUATIONS && start < bytes.length && isContinuation(bytes[start])) {
      start++;
    }
    return start;
  }

  private static boolean isContinuation(byte value) {
    return (value & 0xC0) == 0x80;
  }
}
