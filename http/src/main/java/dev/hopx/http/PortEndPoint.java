package dev.hopx.http;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import org.eclipse.jetty.io.ManagedSelector;
import org.eclipse.jetty.io.SocketChannelEndPoint;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.thread.Scheduler;

/**
 * A connection that knows its port and can read ahead: while a handler runs, nobody reads from an
 * HTTP/1.1 connection, so the end of the client would go unnoticed. What {@link #readAhead()} read
 * comes first in the next {@link #fill}. Reading ahead and filling never happen at once: {@link
 * PeerWatch} ends before the connection reads again.
 */
final class PortEndPoint extends SocketChannelEndPoint {
  /** Bytes of pipelined requests kept while a handler runs; with more, nothing is read. */
  static final int READ_AHEAD = 4096;

  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  private final Port port;

  /** Ready to be read (flipped). */
  private ByteBuffer ahead = NOTHING;

  PortEndPoint(
      SocketChannel channel,
      ManagedSelector selector,
      SelectionKey key,
      Scheduler scheduler,
      Port port) {
    super(channel, selector, key, scheduler);
    this.port = port;
  }

  Port port() {
    return port;
  }

  /** What a read ahead found. */
  enum Ahead {
    /** The client sends nothing or has sent something that now is kept. */
    ALIVE,
    /** No more can be kept. */
    FULL,
    /** The client has closed its end, or the connection is broken. */
    GONE
  }

  Ahead readAhead() {
    if (ahead.capacity() == 0) {
      ahead = BufferUtil.allocate(READ_AHEAD);
    }
    if (BufferUtil.isFull(ahead)) {
      return Ahead.FULL;
    }
    try {
      if (super.fill(ahead) < 0) {
        return Ahead.GONE;
      }
    } catch (IOException broken) {
      return Ahead.GONE;
    }
    return BufferUtil.isFull(ahead) ? Ahead.FULL : Ahead.ALIVE;
  }

  @Override
  public int fill(ByteBuffer buffer) throws IOException {
    if (ahead.hasRemaining()) {
      int moved = BufferUtil.append(buffer, ahead);
      if (!ahead.hasRemaining()) {
        ahead = NOTHING;
      }
      return moved;
    }
    return super.fill(buffer);
  }
}
