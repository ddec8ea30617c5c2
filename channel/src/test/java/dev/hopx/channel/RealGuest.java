package dev.hopx.channel;

import dev.hopx.guest.GuestBinaries;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The real hopx-init as an ordinary process, and a socket before it whose connections can break.
 */
final class RealGuest implements AutoCloseable {
  private static final GuestBinaries BINARIES =
      GuestBinaries.extractTo(
          Path.of(System.getProperty("hopx.buildDirectory", "target"), "test-guest"));

  private final Process process;

  private RealGuest(Process process) {
    this.process = process;
  }

  static RealGuest dial(Path socket) throws IOException {
    return new RealGuest(
        new ProcessBuilder(BINARIES.init().toString(), socket.toString()).inheritIO().start());
  }

  long pid() {
    return process.pid();
  }

  @Override
  public void close() {
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
    process.onExit().join();
  }

  /** Passes bytes between hopx-init and the listener until told to break. */
  static final class Relay implements AutoCloseable {
    private final ServerSocketChannel server;
    private final Path target;
    private final Set<SocketChannel> open = ConcurrentHashMap.newKeySet();
    private final AtomicLong passed = new AtomicLong();

    Relay(Path path, Path target) throws IOException {
      this.target = target;
      server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
      server.bind(UnixDomainSocketAddress.of(path));
      Thread.ofVirtual().start(this::accept);
    }

    /** Bytes passed in both directions. */
    long passed() {
      return passed.get();
    }

    /** Breaks what is connected now, in the middle of whatever it does. */
    void cut() throws IOException {
      for (SocketChannel socket : List.copyOf(open)) {
        open.remove(socket);
        socket.close();
      }
    }

    private void accept() {
      while (true) {
        try {
          SocketChannel guest = server.accept();
          SocketChannel host = SocketChannel.open(UnixDomainSocketAddress.of(target));
          open.add(guest);
          open.add(host);
          Thread.ofVirtual().start(() -> pass(guest, host));
          Thread.ofVirtual().start(() -> pass(host, guest));
        } catch (IOException e) {
          return;
        }
      }
    }

    private void pass(SocketChannel from, SocketChannel to) {
      ByteBuffer buffer = ByteBuffer.allocate(10_007);
      try (from;
          to) {
        while (from.read(buffer.clear()) >= 0) {
          buffer.flip();
          passed.addAndGet(buffer.remaining());
          while (buffer.hasRemaining()) {
            to.write(buffer);
          }
        }
      } catch (IOException e) {
        // Cut.
      }
    }

    @Override
    public void close() throws IOException {
      server.close();
      cut();
    }
  }
}
