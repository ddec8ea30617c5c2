package dev.hopx.agent;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One range of bytes of a {@code Range} header (RFC 9110 §14). Several ranges and other units are
 * answered with the whole file, as the RFC allows.
 *
 * @param first offset of the first byte
 * @param length number of bytes, at least 1
 */
record ByteRange(long first, long length) {
  private static final Pattern SINGLE =
      Pattern.compile("bytes=\\s*(\\d{0,18})\\s*-\\s*(\\d{0,18})");

  /** Whether the header asks for something that can be judged by {@link #within}. */
  static boolean isSingle(String header) {
    Matcher matcher = SINGLE.matcher(header.strip());
    if (!matcher.matches()) {
      return false;
    }
    String from = matcher.group(1);
    String to = matcher.group(2);
    if (from.isEmpty()) {
      return !to.isEmpty();
    }
    return to.isEmpty() || Long.parseLong(to) >= Long.parseLong(from);
  }

  /**
   * The bytes that {@code header}, a {@linkplain #isSingle single} range, means in a file of {@code
   * size} bytes; empty when it has none of them.
   */
  static Optional<ByteRange> within(String header, long size) {
    Matcher matcher = SINGLE.matcher(header.strip());
    if (!matcher.matches()) {
      throw new IllegalArgumentException("Not a single range");
    }
    String from = matcher.group(1);
    String to = matcher.group(2);
    long first;
    long last;
    if (from.isEmpty()) {
      first = Math.max(0, size - Long.parseLong(to));
      last = size - 1;
    } else {
      first = Long.parseLong(from);
      last = to.isEmpty() ? size - 1 : Math.min(size - 1, Long.parseLong(to));
    }
    return first > last ? Optional.empty() : Optional.of(new ByteRange(first, last - first + 1));
  }

  /** {@code bytes 0-9/100}. */
  String contentRange(long size) {
    return "bytes " + first + "-" + (first + length - 1) + "/" + size;
  }
}
