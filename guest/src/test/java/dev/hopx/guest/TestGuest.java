package dev.hopx.guest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;

/**
 * A running {@code hopx-init} and the host's end of its socket, in raw frames. Owns the process and
 * a directory; closing kills and removes both.
 */
final class TestGuest implements AutoCloseable {
  static final long TIMEOUT_SECONDS = 20;

  private final Path directory;
  private final ServerSocketChannel server;
  private final Process process;
  private final Map<Integer, TestStream> streams = new ConcurrentHashMap<>();
  private BlockingQueue<Frame> connectionFrames = new LinkedBlockingQueue<>();
  private Optional<SocketChannel> connection = Optional.empty();
  private final ReentrantLock reading = new ReentrantLock();
  private int lastStream;

  private TestGuest(List<String> prefix) throws IOException {
    assumeTrue(
        "root".equals(System.getProperty("user.name")),
        "SKIPPED: hopx-init changes the identity of its children; run these tests as root");
    directory = Files.createTempDirectory("hopx-guest");
    Path socket = directory.resolve("s");
    server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    server.bind(UnixDomainSocketAddress.of(socket));
    List<String> command = new ArrayList<>(prefix);
    command.add(program(directory).toString());
    command.add(socket.toString());
    process = new ProcessBuilder(command).inheritIO().start();
  }

  /** Starts the program and welcomes it. */
  static TestGuest start() {
    return start(List.of());
  }

  static TestGuest start(List<String> prefix) {
    TestGuest guest = startUnwelcomed(prefix);
    guest.welcome();
    return guest;
  }

  static TestGuest startUnwelcomed(List<String> prefix) {
    try {
      return new TestGuest(prefix);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static Path program(Path directory) {
    return GuestBinaries.extractTo(directory.resolve("bin")).init();
  }

  Path directory() {
    return directory;
  }

  /** Process id of the program, or of what it was started with. */
  long pid() {
    return process.pid();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** Waits for the next dial and its HELLO, without an answer. */
  Frame accept() {
    SocketChannel channel = acceptChannel();
    connection = Optional.of(channel);
    BlockingQueue<Frame> frames = new LinkedBlockingQueue<>();
    connectionFrames = frames;
    Thread.ofVirtual().start(() -> read(channel, frames));
    Frame hello = next();
    assertThat(hello.type()).as("type of the first frame").isEqualTo(Frame.HELLO);
    return hello;
  }

  Frame welcome() {
    Frame hello = accept();
    send(Frame.WELCOME, 0, new Payload().u16(1).u16(0).toBytes());
    return hello;
  }

  void disconnect() {
    try {
      connection.orElseThrow().close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Next frame of the connection itself; one with type -1 is the end of the connection. */
  Frame next() {
    return take(connectionFrames);
  }

  void awaitCut() {
    Frame frame = next();
    while (frame.type() != TestStream.CUT) {
      frame = next();
    }
  }

  /** Stops taking frames from the socket, until {@link #resumeReading()} by the same thread. */
  void pauseReading() {
    reading.lock();
  }

  void resumeReading() {
    reading.unlock();
  }

  void send(int type, int stream, byte[] payload) {
    sendRaw(new Payload().u32(payload.length).u8(type).u32(stream).raw(payload).toBytes());
  }

  void sendRaw(byte[] bytes) {
    try {
      ByteBuffer buffer = ByteBuffer.wrap(bytes);
      while (buffer.hasRemaining()) {
        connection.orElseThrow().write(buffer);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  TestStream newStream() {
    TestStream stream = new TestStream(this, ++lastStream);
    streams.put(stream.id(), stream);
    return stream;
  }

  /** Starts a process with full credit on both outputs. */
  TestStream spawn(SpawnRequest request) {
    TestStream stream = newStream();
    send(Frame.SPAWN, stream.id(), request.toPayload());
    return stream.grant();
  }

  /** Starts a worker as root with full credit on both outputs. */
  TestStream task(int operation, byte[] arguments) {
    return task(operation, 0, arguments);
  }

  TestStream task(int operation, int identity, byte[] arguments) {
    TestStream stream = newStream();
    byte[] payload =
        new Payload().u8(operation).u32(identity).u32(identity).text("").raw(arguments).toBytes();
    send(Frame.TASK, stream.id(), payload);
    return stream.grant();
  }

  /** Sends LIST and gives the entries of all frames of the answer. */
  List<ListedStream> list() {
    send(Frame.LIST, 0, new byte[0]);
    List<ListedStream> result = new ArrayList<>();
    boolean more = true;
    while (more) {
      Frame frame = next();
      assertThat(frame.type()).isEqualTo(Frame.STREAMS);
      ByteBuffer buffer = frame.buffer();
      more = buffer.get() != 0;
      int count = buffer.getInt();
      for (int i = 0; i < count; i++) {
        result.add(ListedStream.read(buffer));
      }
      assertThat(buffer.hasRemaining()).isFalse();
    }
    return result;
  }

  ListedStream listed(TestStream stream) {
    return list().stream().filter(entry -> entry.stream() == stream.id()).findFirst().orElseThrow();
  }

  /** A figure of {@code /proc/PID/status}, in its unit. */
  long status(String field) {
    try (Stream<String> lines = Files.lines(Path.of("/proc/" + process.pid() + "/status"))) {
      String line = lines.filter(l -> l.startsWith(field + ":")).findFirst().orElseThrow();
      return Long.parseLong(line.replaceAll("[^0-9]", ""));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  long openDescriptors() {
    try (Stream<Path> entries = Files.list(Path.of("/proc/" + process.pid() + "/fd"))) {
      return entries.count();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
    try {
      process.waitFor();
      server.close();
      if (connection.isPresent()) {
        connection.get().close();
      }
      removeTree(directory);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  static Frame take(BlockingQueue<Frame> frames) {
    try {
      Frame frame = frames.poll(TIMEOUT_SECONDS, TimeUnit.SECONDS);
      if (frame == null) {
        throw new AssertionError("no frame within " + TIMEOUT_SECONDS + " s");
      }
      return frame;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted", e);
    }
  }

  private SocketChannel acceptChannel() {
    BlockingQueue<SocketChannel> accepted = new LinkedBlockingQueue<>();
    Thread acceptor =
        Thread.ofPlatform()
            .daemon()
            .start(
                () -> {
                  try {
                    accepted.add(server.accept());
                  } catch (IOException e) {
                    // Told by the empty queue.
                  }
                });
    try {
      SocketChannel channel = accepted.poll(TIMEOUT_SECONDS, TimeUnit.SECONDS);
      if (channel == null) {
        acceptor.interrupt();
        throw new AssertionError("the guest did not dial within " + TIMEOUT_SECONDS + " s");
      }
      return channel;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted", e);
    }
  }

  private void read(SocketChannel channel, BlockingQueue<Frame> frames) {
    try {
      while (true) {
        ByteBuffer header = readFully(channel, Frame.HEADER);
        int length = header.getInt();
        int type = header.get();
        int stream = header.getInt();
        if (length < 0 || length > Frame.MAX_PAYLOAD_TO_HOST) {
          throw new IOException("a frame of " + length + " bytes");
        }
        Frame frame = new Frame(type, stream, readFully(channel, length).array());
        waitUntilReading();
        if (stream == 0) {
          frames.add(frame);
        } else {
          Optional.ofNullable(streams.get(stream)).ifPresent(s -> s.frames().add(frame));
        }
      }
    } catch (IOException e) {
      Frame cut = new Frame(TestStream.CUT, 0, new byte[0]);
      frames.add(cut);
      streams.values().forEach(stream -> stream.frames().add(cut));
    }
  }

  private void waitUntilReading() {
    reading.lock();
    try {
      // Nothing to do under the lock: holding it is what stops this thread.
    } finally {
      reading.unlock();
    }
  }

  private static ByteBuffer readFully(SocketChannel channel, int length) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(length);
    while (buffer.hasRemaining()) {
      if (channel.read(buffer) < 0) {
        throw new IOException("end of the connection");
      }
    }
    return buffer.flip();
  }

  private static void removeTree(Path path) throws IOException {
    new ProcessBuilder("rm", "-rf", path.toString()).start().onExit().join();
    assertThat(path).doesNotExist();
  }
}
