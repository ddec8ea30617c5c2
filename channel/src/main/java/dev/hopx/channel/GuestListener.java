package dev.hopx.channel;

import static java.util.Objects.requireNonNull;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.function.IntPredicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The Unix socket that one sandbox's process 1 dials. Owns the socket, its file, the accepting
 * thread and the {@link GuestChannel}. Whoever else inside the sandbox connects is refused by the
 * process id the kernel gives, before a byte is read.
 */
public final class GuestListener implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(GuestListener.class);

  /** Longest path of a Unix socket, in bytes. */
  static final int MAX_SOCKET_PATH = 107;

  private static final int BACKLOG = 16;

  /** Rest after an unwelcome connection, so that a loop of them inside costs the host little. */
  private static final Duration REFUSAL_PAUSE = Duration.ofMillis(10);

  private final String name;
  private final Path path;
  private final IntPredicate admitted;
  private final ChannelSettings settings;
  private final ServerSocketChannel server;
  private final GuestChannel channel;
  private final Thread acceptor;

  /** Of the accepting thread alone. */
  private long refused;

  private GuestListener(
      String name,
      Path path,
      IntPredicate admitted,
      ChannelSettings settings,
      ServerSocketChannel server) {
    this.name = name;
    this.path = path;
    this.admitted = admitted;
    this.settings = settings;
    this.server = server;
    this.channel = new GuestChannel(name, settings);
    this.acceptor =
        Thread.ofVirtual().name("hopx-channel-acceptor " + name).unstarted(this::acceptAll);
  }

  /**
   * Binds {@code path}, replacing a stale file, and begins to accept.
   *
   * @param name of the sandbox, for logs and thread names
   * @param path at most 107 bytes; its directory keeps strangers out, the socket itself (0666) lets
   *     every user of the sandbox connect
   * @param admitted true for the process id, as this process sees it, of the sandbox's process 1.
   *     Called on the accepting thread for each connection; it may wait until the id is known
   * @throws IOException when the socket cannot be made
   * @throws IllegalStateException when the JVM was started without access to the peer's process id
   */
  public static GuestListener bind(
      String name, Path path, IntPredicate admitted, ChannelSettings settings) throws IOException {
    requireNonNull(name, "name");
    requireNonNull(admitted, "admitted");
    requireNonNull(settings, "settings");
    PeerCredentials.check();
    int length = path.toString().getBytes(java.nio.charset.StandardCharsets.UTF_8).length;
    if (length > MAX_SOCKET_PATH) {
      throw new IOException(
          "The socket path %s has %d bytes, at most %d are possible; set a shorter run-dir"
              .formatted(path, length, MAX_SOCKET_PATH));
    }
    Files.deleteIfExists(path);
    ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    boolean success = false;
    try {
      server.bind(UnixDomainSocketAddress.of(path), BACKLOG);
      Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-rw-rw-"));
      GuestListener listener = new GuestListener(name, path, admitted, settings, server);
      listener.acceptor.start();
      success = true;
      return listener;
    } finally {
      if (!success) {
        server.close();
      }
    }
  }

  public GuestChannel channel() {
    return channel;
  }

  private void acceptAll() {
    while (server.isOpen()) {
      try {
        SocketChannel socket = server.accept();
        if (!handle(socket)) {
          Thread.sleep(REFUSAL_PAUSE);
        }
        if (channel.failure().isPresent()) {
          return;
        }
      } catch (ClosedChannelException e) {
        return;
      } catch (IOException e) {
        LOG.warn("{}: accepting the guest failed", name, e);
        if (!rest()) {
          return;
        }
      } catch (RuntimeException e) {
        LOG.error("{}: a connection could not be judged", name, e);
        if (!rest()) {
          return;
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  private static boolean rest() {
    try {
      Thread.sleep(REFUSAL_PAUSE);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /**
   * Returns false when the connection was refused. Handshakes are one at a time: by one process.
   */
  private boolean handle(SocketChannel socket) throws IOException {
    boolean taken = false;
    try {
      int pid = PeerCredentials.pid(socket);
      if (!admitted.test(pid)) {
        refused++;
        // A loop inside must not fill the host's log: said at 1, 2, 4, 8, … of them.
        if (Long.bitCount(refused) == 1) {
          LOG.warn(
              "{}: refused {} connections, this one of process {}, which is not the sandbox's first",
              name,
              refused,
              pid);
        }
        return false;
      }
      taken = shakeHands(socket);
      return taken;
    } finally {
      if (!taken) {
        socket.close();
      }
    }
  }

  private boolean shakeHands(SocketChannel socket) {
    try (Deadline _ =
        Deadline.after(
            "hopx-channel-handshake " + name, settings.handshake(), () -> close(socket))) {
      Hello hello = Hello.read(socket);
      if (!hello.speaks(Protocol.VERSION)) {
        writeFully(socket, Frames.refuse(Protocol.REFUSE_VERSION));
        throw new ProtocolViolation(
            "The guest speaks versions %d to %d, this server %d; rebuild one of them"
                .formatted(hello.lowest(), hello.highest(), Protocol.VERSION));
      }
      if (!channel.accepts(hello.bootId())) {
        LOG.warn("{}: refused a process 1 that is not the one known", name);
        writeFully(socket, Frames.refuse(Protocol.REFUSE_UNEXPECTED));
        return false;
      }
      writeFully(socket, Frames.welcome());
      channel.connected(socket, hello.bootId(), hello.highestStream());
      return true;
    } catch (IOException e) {
      LOG.info("{}: a handshake failed: {}", name, e.toString());
      return false;
    } catch (ProtocolViolation e) {
      channel.broken(e);
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private static void writeFully(SocketChannel socket, byte[] frame) throws IOException {
    ByteBuffer buffer = ByteBuffer.wrap(frame);
    while (buffer.hasRemaining()) {
      socket.write(buffer);
    }
  }

  private void close(SocketChannel socket) {
    try {
      socket.close();
    } catch (IOException e) {
      LOG.debug("{}: closing a socket failed", name, e);
    }
  }

  /** Ends the channel and removes the socket. The guest's processes are left alone. Idempotent. */
  @Override
  public void close() {
    channel.close();
    try {
      server.close();
      Files.deleteIfExists(path);
    } catch (IOException e) {
      LOG.warn("{}: removing the socket {} failed", name, path, e);
    }
    acceptor.interrupt();
  }
}
