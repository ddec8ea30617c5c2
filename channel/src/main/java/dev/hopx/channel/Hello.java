package dev.hopx.channel;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.util.HexFormat;

/**
 * The first frame of a guest.
 *
 * @param lowest lowest version it speaks
 * @param highest highest version it speaks
 * @param bootId random name of this life of process 1, in hex
 * @param highestStream highest stream id seen in this life
 */
record Hello(int lowest, int highest, String bootId, long highestStream) {
  /** Reads exactly one HELLO. The caller sets the deadline. */
  static Hello read(ReadableByteChannel socket) throws IOException, ProtocolViolation {
    PayloadReader header = new PayloadReader(fill(socket, Protocol.HEADER));
    long length = header.u32();
    int type = header.u8();
    long stream = header.u32();
    if (type != Protocol.HELLO || stream != 0 || length != Protocol.HELLO_PAYLOAD) {
      throw new ProtocolViolation(
          "Type 0x%02x with %d bytes for stream %d instead of HELLO"
              .formatted(type, length, stream));
    }
    PayloadReader reader = new PayloadReader(fill(socket, Protocol.HELLO_PAYLOAD));
    if (reader.i32() != Protocol.MAGIC) {
      throw new ProtocolViolation("HELLO with another magic number");
    }
    int lowest = reader.u16();
    int highest = reader.u16();
    String bootId = HexFormat.of().formatHex(reader.bytes(Protocol.BOOT_ID));
    long features = reader.u32();
    if (lowest > highest || features != 0) {
      throw new ProtocolViolation(
          "HELLO with versions %d to %d, features %d".formatted(lowest, highest, features));
    }
    return new Hello(lowest, highest, bootId, reader.u32());
  }

  boolean speaks(int version) {
    return lowest <= version && version <= highest;
  }

  private static ByteBuffer fill(ReadableByteChannel socket, int size) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(size);
    while (buffer.hasRemaining()) {
      if (socket.read(buffer) < 0) {
        throw new EOFException("The guest closed the connection within its handshake");
      }
    }
    return buffer.flip();
  }
}
