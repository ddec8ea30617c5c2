package dev.hopx.channel;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Reads the fields of one payload from the guest. Every read is checked against what is left, so
 * that a short or over-long payload is a violation and never an exception of the buffer.
 */
final class PayloadReader {
  private final ByteBuffer payload;

  PayloadReader(ByteBuffer payload) {
    this.payload = payload;
  }

  int u8() throws ProtocolViolation {
    need(1);
    return payload.get() & 0xFF;
  }

  int u16() throws ProtocolViolation {
    need(2);
    return payload.getShort() & 0xFFFF;
  }

  int i32() throws ProtocolViolation {
    need(4);
    return payload.getInt();
  }

  long u32() throws ProtocolViolation {
    return i32() & 0xFFFF_FFFFL;
  }

  long i64() throws ProtocolViolation {
    need(8);
    return payload.getLong();
  }

  /** An unsigned 64 bit number that must fit a {@code long}; no honest guest counts further. */
  long u64() throws ProtocolViolation {
    long value = i64();
    if (value < 0) {
      throw new ProtocolViolation("A 64 bit number is above 2^63");
    }
    return value;
  }

  byte[] bytes(int count) throws ProtocolViolation {
    need(count);
    byte[] bytes = new byte[count];
    payload.get(bytes);
    return bytes;
  }

  String string(int longest) throws ProtocolViolation {
    long length = u32();
    if (length > longest) {
      throw new ProtocolViolation("A string of " + length + " bytes, at most " + longest);
    }
    return new String(bytes((int) length), StandardCharsets.UTF_8);
  }

  /** The rest, which stays in the buffer it arrived in. */
  ByteBuffer rest() {
    return payload;
  }

  void end() throws ProtocolViolation {
    if (payload.hasRemaining()) {
      throw new ProtocolViolation(payload.remaining() + " bytes too many in a payload");
    }
  }

  private void need(int count) throws ProtocolViolation {
    if (payload.remaining() < count) {
      throw new ProtocolViolation("A payload ends early");
    }
  }
}
