package dev.hopx.channel;

import java.nio.ByteBuffer;

/** Cuts what arrives from a guest into frames. Knows sizes and types, no streams. */
final class FrameDecoder {
  /** Receives whole frames; {@code payload} is only valid during the call. */
  @FunctionalInterface
  interface FrameHandler {
    void frame(int type, long stream, ByteBuffer payload) throws ProtocolViolation;
  }

  private FrameDecoder() {}

  /**
   * Hands all whole frames of {@code buffer} to {@code handler} and leaves the rest in it.
   *
   * @return bytes the next frame has in all as far as that is known, at least a header's
   */
  static int decode(ByteBuffer buffer, FrameHandler handler) throws ProtocolViolation {
    while (buffer.remaining() >= Protocol.HEADER) {
      int start = buffer.position();
      long length = buffer.getInt(start) & 0xFFFF_FFFFL;
      int type = buffer.get(start + 4) & 0xFF;
      if (length > Protocol.MAX_PAYLOAD_TO_HOST) {
        throw new ProtocolViolation(
            "A frame of " + length + " bytes, at most " + Protocol.MAX_PAYLOAD_TO_HOST);
      }
      if (!isSentByGuests(type)) {
        throw new ProtocolViolation("A frame of type 0x%02x".formatted(type));
      }
      int payload = (int) length;
      if (buffer.remaining() < Protocol.HEADER + payload) {
        return Protocol.HEADER + payload;
      }
      long stream = buffer.getInt(start + 5) & 0xFFFF_FFFFL;
      int end = start + Protocol.HEADER + payload;
      int limit = buffer.limit();
      buffer.limit(end).position(start + Protocol.HEADER);
      handler.frame(type, stream, buffer);
      buffer.limit(limit).position(end);
    }
    return Protocol.HEADER;
  }

  private static boolean isSentByGuests(int type) {
    return switch (type) {
      case Protocol.PING,
          Protocol.PONG,
          Protocol.DATA,
          Protocol.EOF,
          Protocol.CREDIT,
          Protocol.SPAWNED,
          Protocol.STARTED,
          Protocol.FAILED,
          Protocol.EXIT,
          Protocol.STREAMS ->
          true;
      default -> false;
    };
  }
}
