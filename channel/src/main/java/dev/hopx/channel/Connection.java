package dev.hopx.channel;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection of a guest after its handshake: a reader and a writer thread over one socket. Owns
 * the socket. The reader thread alone calls the {@link Owner}.
 */
final class Connection {
  private static final Logger LOG = LoggerFactory.getLogger(Connection.class);

  /** Enough for the small frames of an idle or talkative guest. */
  private static final int SMALL_BUFFER = 8_192;

  /** Whom the frames are for. Exclusive: called by one thread at a time per connection. */
  interface Owner {
    void frame(Connection from, int type, long stream, ByteBuffer payload) throws ProtocolViolation;

    /** The last call: the connection has ended. */
    void ended(Connection from, String why);

    /** The last call instead of {@link #ended}: the guest broke the protocol. */
    void violated(Connection from, ProtocolViolation violation);
  }

  private final String name;
  private final SocketChannel socket;
  private final Owner owner;
  private final Outbox outbox = new Outbox();
  private volatile boolean closed;
  private volatile boolean overrun;

  Connection(String name, SocketChannel socket, Owner owner) {
    this.name = name;
    this.socket = socket;
    this.owner = owner;
  }

  void start() {
    Thread.ofVirtual().name("hopx-channel-writer " + name).start(this::write);
    Thread.ofVirtual().name("hopx-channel-reader " + name).start(this::read);
  }

  /** Sends a frame some time soon; never blocks, and is ignored when closed. */
  void offer(byte[] frame) {
    if (!outbox.offer(frame)) {
      overrun = true;
      close();
    }
  }

  boolean awaitRoom(long nanos) throws InterruptedException {
    return outbox.awaitRoom(nanos);
  }

  void awaitRoom() throws InterruptedException {
    outbox.awaitRoom();
  }

  boolean isClosed() {
    return closed;
  }

  void close() {
    closed = true;
    outbox.close();
    try {
      socket.close();
    } catch (IOException e) {
      LOG.warn("{}: closing the guest's socket failed", name, e);
    }
  }

  private void write() {
    try {
      outbox.writeTo(socket);
    } catch (IOException e) {
      // The reader meets the same end and reports it.
      LOG.debug("{}: writing to the guest ended: {}", name, e.toString());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      close();
    }
  }

  private void read() {
    String why = "the guest closed it";
    try {
      readFrames();
    } catch (IOException e) {
      why = closed ? "closed by the host" : String.valueOf(e.getMessage());
    } catch (ProtocolViolation e) {
      close();
      owner.violated(this, e);
      return;
    } catch (RuntimeException e) {
      LOG.error("{}: handling a frame of the guest failed", name, e);
      close();
      owner.violated(this, new ProtocolViolation("A frame could not be handled: " + e));
      return;
    }
    close();
    if (overrun) {
      owner.violated(this, new ProtocolViolation("The guest does not read its socket"));
    } else {
      owner.ended(this, why);
    }
  }

  private void readFrames() throws IOException, ProtocolViolation {
    ByteBuffer small = ByteBuffer.allocate(SMALL_BUFFER);
    ByteBuffer buffer = small;
    boolean large = false;
    try {
      while (true) {
        int count = socket.read(buffer);
        if (count < 0) {
          return;
        }
        boolean full = !buffer.hasRemaining();
        buffer.flip();
        int needed =
            FrameDecoder.decode(
                buffer, (type, stream, payload) -> owner.frame(this, type, stream, payload));
        if (!large && (full || needed > SMALL_BUFFER)) {
          large = true;
          buffer = ReadBuffers.take().put(small);
          small.clear();
        } else if (large && !buffer.hasRemaining() && count < SMALL_BUFFER) {
          large = false;
          ReadBuffers.give(buffer);
          buffer = small;
        } else {
          buffer.compact();
        }
      }
    } finally {
      if (large) {
        ReadBuffers.give(buffer);
      }
    }
  }
}
