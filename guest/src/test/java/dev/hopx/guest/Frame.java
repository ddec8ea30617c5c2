package dev.hopx.guest;

import java.nio.ByteBuffer;

/** A frame of {@code guest/PROTOCOL.md}, with the numbers of that page. */
final class Frame {
  static final int HELLO = 0x01;
  static final int WELCOME = 0x02;
  static final int REFUSE = 0x03;
  static final int PING = 0x04;
  static final int PONG = 0x05;
  static final int DATA = 0x10;
  static final int EOF = 0x11;
  static final int CREDIT = 0x12;
  static final int SPAWN = 0x20;
  static final int SPAWNED = 0x21;
  static final int GO = 0x22;
  static final int STARTED = 0x23;
  static final int FAILED = 0x24;
  static final int EXIT = 0x25;
  static final int SIGNAL = 0x26;
  static final int RESIZE = 0x27;
  static final int CLOSE = 0x28;
  static final int TASK = 0x30;
  static final int LIST = 0x40;
  static final int STREAMS = 0x41;
  static final int RESUME = 0x42;

  static final int HEADER = 9;
  static final int MAX_PAYLOAD_TO_GUEST = 262_144;
  static final int MAX_PAYLOAD_TO_HOST = 65_568;
  static final int MAX_DATA = 65_536;
  static final int MAX_WINDOW = 262_144;

  private final int type;
  private final int stream;
  private final byte[] payload;

  Frame(int type, int stream, byte[] payload) {
    this.type = type;
    this.stream = stream;
    this.payload = payload;
  }

  int type() {
    return type;
  }

  int stream() {
    return stream;
  }

  byte[] payload() {
    return payload;
  }

  ByteBuffer buffer() {
    return ByteBuffer.wrap(payload);
  }

  int number(int offset) {
    return buffer().getInt(offset);
  }
}
