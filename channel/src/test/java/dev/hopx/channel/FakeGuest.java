package dev.hopx.channel;

import java.io.EOFException;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** The other end of the protocol, written by hand so that it can lie. Owns its socket. */
final class FakeGuest implements AutoCloseable {
  static final byte[] BOOT = new byte[] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  static final int PID = 42;

  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Frame(int type, long stream, byte[] payload) {
    PayloadReader reader() {
      return new PayloadReader(ByteBuffer.wrap(payload));
    }
  }

  private final SocketChannel socket;

  private FakeGuest(SocketChannel socket) {
    this.socket = socket;
  }

  static FakeGuest dial(Path path) throws IOException {
    return new FakeGuest(SocketChannel.open(UnixDomainSocketAddress.of(path)));
  }

  /** Dials, shakes hands and lists {@code entries}. */
  static FakeGuest connect(Path path, long highest, ListedStream... entries) throws IOException {
    FakeGuest guest = dial(path);
    guest.hello(1, 1, BOOT, highest);
    guest.expect(Protocol.WELCOME);
    guest.expect(Protocol.LIST);
    guest.streams(List.of(entries));
    return guest;
  }

  void hello(int lowest, int highestVersion, byte[] boot, long highestStream) throws IOException {
    PayloadWriter writer = new PayloadWriter().u32(Protocol.MAGIC).u16(lowest).u16(highestVersion);
    for (byte next : boot) {
      writer.u8(next);
    }
    send(writer.u32(0).u32(highestStream), Protocol.HELLO, 0);
  }

  void streams(List<ListedStream> entries) throws IOException {
    page(entries, false);
  }

  void page(List<ListedStream> entries, boolean more) throws IOException {
    PayloadWriter writer = new PayloadWriter().u8(more ? 1 : 0).u32(entries.size());
    for (ListedStream entry : entries) {
      writer
          .u32(entry.stream())
          .u8(entry.kind())
          .u32(entry.pid())
          .u8(entry.state())
          .u32(entry.flags())
          .string("tag", entry.tag());
      for (ListedStream.Channel channel : entry.channels()) {
        writer.u8(channel.state()).u64(channel.consumed()).u64(channel.sent());
      }
    }
    send(writer, Protocol.STREAMS, 0);
  }

  /** A running process with stdin, as the guest lists it. */
  static ListedStream running(
      long stream, long inConsumed, long outConsumed, long outSent, long errSent) {
    return new ListedStream(
        stream,
        Protocol.KIND_PROCESS,
        PID,
        Protocol.STATE_RUNNING,
        Protocol.SPAWN_STDIN | Protocol.SPAWN_KEEP,
        "tag",
        List.of(
            new ListedStream.Channel(Protocol.CHANNEL_OPEN, inConsumed, inConsumed),
            new ListedStream.Channel(Protocol.CHANNEL_OPEN, outConsumed, outSent),
            new ListedStream.Channel(Protocol.CHANNEL_OPEN, 0, errSent)));
  }

  /** Answers a SPAWN, and gives its stream. */
  long acceptSpawn() throws IOException {
    long stream = expect(Protocol.SPAWN).stream();
    expect(Protocol.CREDIT);
    expect(Protocol.CREDIT);
    send(new PayloadWriter().u32(PID), Protocol.SPAWNED, stream);
    send(new PayloadWriter(), Protocol.STARTED, stream);
    return stream;
  }

  void data(long stream, int channel, long offset, byte[] bytes) throws IOException {
    PayloadWriter writer = new PayloadWriter().u8(channel).u64(offset);
    for (byte next : bytes) {
      writer.u8(next);
    }
    send(writer, Protocol.DATA, stream);
  }

  void end(long stream, int channel, long length) throws IOException {
    send(new PayloadWriter().u8(channel).u64(length), Protocol.EOF, stream);
  }

  void credit(long stream, int channel, long consumed, long limit) throws IOException {
    send(new PayloadWriter().u8(channel).u64(consumed).u64(limit), Protocol.CREDIT, stream);
  }

  void exit(long stream, int how, long value) throws IOException {
    send(exitPayload(how, value), Protocol.EXIT, stream);
  }

  static PayloadWriter exitPayload(int how, long value) {
    return new PayloadWriter().u8(how).u32(value).u64(1_000).u64(2_000).u64(300);
  }

  void send(PayloadWriter payload, int type, long stream) throws IOException {
    raw(payload.frame(type, stream));
  }

  void raw(byte[] bytes) throws IOException {
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    while (buffer.hasRemaining()) {
      socket.write(buffer);
    }
  }

  Frame expect(int type) throws IOException {
    Frame frame = read();
    if (frame.type() != type) {
      throw new AssertionError(
          "Expected type 0x%02x, got 0x%02x for stream %d: %s"
              .formatted(type, frame.type(), frame.stream(), Arrays.toString(frame.payload())));
    }
    return frame;
  }

  Frame read() throws IOException {
    ByteBuffer header = fill(Protocol.HEADER);
    int length = header.getInt();
    int type = header.get() & 0xFF;
    long stream = header.getInt() & 0xFFFF_FFFFL;
    return new Frame(type, stream, fill(length).array());
  }

  /** Reads until the host closes the connection. */
  void awaitClosed() {
    ByteBuffer buffer = ByteBuffer.allocate(4_096);
    try {
      while (socket.read(buffer.clear()) >= 0) {
        // What the host still had to say.
      }
    } catch (IOException e) {
      // A reset is an end as well.
    }
  }

  private ByteBuffer fill(int size) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(size);
    while (buffer.hasRemaining()) {
      if (socket.read(buffer) < 0) {
        throw new EOFException("The host closed the connection");
      }
    }
    return buffer.flip();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
