package dev.hopx.channel;

import java.nio.ByteBuffer;

/** Small frames to the guest. */
final class Frames {
  private Frames() {}

  static void putHeader(ByteBuffer frame, int payload, int type, long stream) {
    frame.putInt(0, payload).put(4, (byte) type).putInt(5, (int) stream);
  }

  static int type(byte[] frame) {
    return frame[4] & 0xFF;
  }

  static byte[] empty(int type, long stream) {
    return start(0, type, stream).array();
  }

  static byte[] welcome() {
    return start(4, Protocol.WELCOME, 0).putShort((short) Protocol.VERSION).array();
  }

  static byte[] refuse(int reason) {
    return start(2, Protocol.REFUSE, 0).putShort((short) reason).array();
  }

  static byte[] ping(int type, long value) {
    return start(Protocol.PING_PAYLOAD, type, 0).putLong(value).array();
  }

  static byte[] data(long stream, long offset, byte[] bytes, int start, int length) {
    return start(1 + 8 + length, Protocol.DATA, stream)
        .put((byte) Protocol.IN)
        .putLong(offset)
        .put(bytes, start, length)
        .array();
  }

  static byte[] end(long stream, long length) {
    return start(1 + 8, Protocol.EOF, stream).put((byte) Protocol.IN).putLong(length).array();
  }

  static byte[] credit(long stream, int channel, long consumed, long limit) {
    return start(1 + 8 + 8, Protocol.CREDIT, stream)
        .put((byte) channel)
        .putLong(consumed)
        .putLong(limit)
        .array();
  }

  static byte[] resume(long stream, int channel, long offset) {
    return start(1 + 8, Protocol.RESUME, stream).put((byte) channel).putLong(offset).array();
  }

  static byte[] signal(long stream, int signal, boolean group) {
    return start(4 + 1, Protocol.SIGNAL, stream).putInt(signal).put((byte) (group ? 1 : 0)).array();
  }

  static byte[] resize(long stream, Spawn.TerminalSize size) {
    return start(2 + 2, Protocol.RESIZE, stream)
        .putShort((short) size.columns())
        .putShort((short) size.rows())
        .array();
  }

  private static ByteBuffer start(int payload, int type, long stream) {
    ByteBuffer frame = ByteBuffer.allocate(Protocol.HEADER + payload);
    putHeader(frame, payload, type, stream);
    return frame.position(Protocol.HEADER);
  }
}
