package dev.hopx.channel;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** Parts for tests that need a connection but no peer. */
final class FakeSockets {
  private static final SocketChannel CLOSED = open();

  /** Hears nothing. */
  static final class DeafOwner implements Connection.Owner {
    @Override
    public void frame(Connection from, int type, long stream, ByteBuffer payload) {}

    @Override
    public void ended(Connection from, String why) {}

    @Override
    public void violated(Connection from, ProtocolViolation violation) {}
  }

  private FakeSockets() {}

  /** One socket that was never connected, shared: nothing is ever done with it. */
  static SocketChannel closed() {
    return CLOSED;
  }

  private static SocketChannel open() {
    try {
      return SocketChannel.open(StandardProtocolFamily.UNIX);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
