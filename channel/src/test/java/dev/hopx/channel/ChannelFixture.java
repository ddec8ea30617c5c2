package dev.hopx.channel;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntPredicate;

/** A listener in a directory of its own, and threads to call it from. */
final class ChannelFixture implements AutoCloseable {
  static final ChannelSettings PATIENT =
      new ChannelSettings(Duration.ofSeconds(5), Duration.ofSeconds(10), Duration.ofSeconds(10));
  static final ChannelSettings HASTY =
      new ChannelSettings(Duration.ofMillis(200), Duration.ofMillis(200), Duration.ofMillis(500));

  private static final AtomicInteger NUMBERS = new AtomicInteger();

  private final String name = "test-" + NUMBERS.incrementAndGet();
  private final Path directory;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final IntPredicate admitted;
  private final ChannelSettings settings;
  private GuestListener listener;

  ChannelFixture(ChannelSettings settings) throws IOException {
    this(settings, pid -> pid == ProcessHandle.current().pid());
  }

  ChannelFixture(ChannelSettings settings, IntPredicate admitted) throws IOException {
    this.settings = settings;
    this.admitted = admitted;
    this.directory = Files.createTempDirectory("hopx-channel-test");
    this.listener = GuestListener.bind(name, socket(), admitted, settings);
  }

  String name() {
    return name;
  }

  Path directory() {
    return directory;
  }

  Path socket() {
    return directory.resolve("s");
  }

  GuestChannel channel() {
    return listener.channel();
  }

  GuestListener listener() {
    return listener;
  }

  /** What a restart of the server does to the channel. */
  void restart() throws IOException {
    listener.close();
    listener = GuestListener.bind(name, socket(), admitted, settings);
  }

  <T> CompletableFuture<T> async(java.util.concurrent.Callable<T> call) {
    CompletableFuture<T> result = new CompletableFuture<>();
    var _ =
        threads.submit(
            () -> {
              try {
                result.complete(call.call());
              } catch (Throwable e) {
                result.completeExceptionally(e);
              }
            });
    return result;
  }

  /** A process of a fake guest, with stdin. */
  GuestProcess start(FakeGuest guest) throws Exception {
    CompletableFuture<GuestProcess> process = async(() -> channel().start(spawn()));
    guest.acceptSpawn();
    return process.get();
  }

  static Spawn spawn() {
    return new Spawn(
        List.of("program"),
        Map.of(),
        "/",
        GuestUser.ROOT,
        true,
        java.util.Optional.empty(),
        false,
        true,
        "tag");
  }

  /** What a failed future was failed with. */
  static Throwable failure(CompletableFuture<?> future) throws InterruptedException {
    try {
      Object value = future.get();
      throw new AssertionError("Expected a failure, got " + value);
    } catch (ExecutionException e) {
      return java.util.Objects.requireNonNull(e.getCause());
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    threads.shutdownNow();
    threads.close();
    ChannelThreads.awaitNone(name);
    Files.deleteIfExists(socket());
    try (var left = Files.list(directory)) {
      for (Path path : left.toList()) {
        Files.delete(path);
      }
    }
    Files.delete(directory);
  }
}
