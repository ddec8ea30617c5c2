package dev.hopx.channel;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/**
 * Reads the fields that a worker writes into a channel, where they may be cut anywhere. An end
 * between two fields is an {@link EOFException}.
 */
final class FieldInput {
  private final InputStream input;

  FieldInput(InputStream input) {
    this.input = input;
  }

  /** The next byte, or -1 at the end. */
  int u8OrEnd() throws IOException {
    return input.read();
  }

  int u8() throws IOException {
    int value = input.read();
    if (value < 0) {
      throw new EOFException("A record ends early");
    }
    return value;
  }

  long u32() throws IOException {
    return number(4);
  }

  long i64() throws IOException {
    return number(8);
  }

  String string(int longest) throws IOException, ProtocolViolation {
    long length = u32();
    if (length > longest) {
      throw new ProtocolViolation("A string of " + length + " bytes, at most " + longest);
    }
    return text(bytes((int) length));
  }

  /** A string whose first length byte was read already. */
  String string(int firstByte, int longest) throws IOException, ProtocolViolation {
    long length = ((long) firstByte << 24) | number(3);
    if (length > longest) {
      throw new ProtocolViolation("A string of " + length + " bytes, at most " + longest);
    }
    return text(bytes((int) length));
  }

  private static String text(byte[] bytes) {
    // Names that are no UTF-8 show a replacement character: they reach JSON, which has no other.
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private long number(int size) throws IOException {
    long value = 0;
    for (byte next : bytes(size)) {
      value = (value << 8) | (next & 0xFF);
    }
    return value;
  }

  private byte[] bytes(int count) throws IOException {
    byte[] bytes = input.readNBytes(count);
    if (bytes.length < count) {
      throw new EOFException("A record ends early");
    }
    return bytes;
  }
}
