package dev.hopx.channel;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Builds one frame to the guest. */
final class PayloadWriter {
  private static final int FIRST_CAPACITY = 256;

  private byte[] bytes = new byte[FIRST_CAPACITY];
  private ByteBuffer buffer = ByteBuffer.wrap(bytes).position(Protocol.HEADER);

  PayloadWriter u8(int value) {
    room(1).put((byte) value);
    return this;
  }

  PayloadWriter u16(int value) {
    room(2).putShort((short) value);
    return this;
  }

  PayloadWriter u32(long value) {
    room(4).putInt((int) value);
    return this;
  }

  PayloadWriter u64(long value) {
    room(8).putLong(value);
    return this;
  }

  /**
   * A string of the guest.
   *
   * @param what names it in the message of a failure
   * @throws GuestException {@code INVALID_PATH} when it holds a NUL or half a surrogate pair: both
   *     would silently name something else inside
   */
  PayloadWriter string(String what, String text) {
    return string(what, text, Protocol.MAX_PAYLOAD_TO_GUEST, GuestException.Kind.TOO_LARGE);
  }

  /** A path, at most {@link Protocol#MAX_PATH} bytes. */
  PayloadWriter path(String path) {
    return string("path", path, Protocol.MAX_PATH, GuestException.Kind.INVALID_PATH);
  }

  private PayloadWriter string(String what, String text, int longest, GuestException.Kind tooLong) {
    ByteBuffer encoded;
    try {
      encoded = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
    } catch (CharacterCodingException e) {
      throw new GuestException(
          GuestException.Kind.INVALID_PATH, "The " + what + " is no valid Unicode text", e);
    }
    if (text.indexOf('\0') >= 0) {
      throw new GuestException(
          GuestException.Kind.INVALID_PATH,
          Errno.EINVAL,
          "The " + what + " must not hold a NUL character");
    }
    if (encoded.remaining() > longest) {
      throw new GuestException(
          tooLong,
          tooLong == GuestException.Kind.TOO_LARGE ? Errno.E2BIG : Errno.ENAMETOOLONG,
          "The %s has %d bytes, at most %d are possible"
              .formatted(what, encoded.remaining(), longest));
    }
    u32(encoded.remaining());
    room(encoded.remaining()).put(encoded);
    return this;
  }

  /**
   * The finished frame.
   *
   * @throws GuestException {@code TOO_LARGE} above {@link Protocol#MAX_PAYLOAD_TO_GUEST}
   */
  byte[] frame(int type, long stream) {
    int payload = buffer.position() - Protocol.HEADER;
    if (payload > Protocol.MAX_PAYLOAD_TO_GUEST) {
      throw new GuestException(
          GuestException.Kind.TOO_LARGE,
          Errno.E2BIG,
          "Arguments, environment and paths have %d bytes together, at most %d are possible"
              .formatted(payload, Protocol.MAX_PAYLOAD_TO_GUEST));
    }
    Frames.putHeader(buffer, payload, type, stream);
    return Arrays.copyOf(bytes, Protocol.HEADER + payload);
  }

  private ByteBuffer room(int count) {
    if (buffer.remaining() < count) {
      int position = buffer.position();
      bytes = Arrays.copyOf(bytes, Math.max(bytes.length * 2, position + count));
      buffer = ByteBuffer.wrap(bytes).position(position);
    }
    return buffer;
  }
}
