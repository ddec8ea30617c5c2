package dev.hopx.agent;

import dev.hopx.channel.ChannelSettings;
import dev.hopx.channel.Guest;
import dev.hopx.channel.GuestListener;
import dev.hopx.guest.GuestBinaries;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;

/**
 * The real hopx-init as process 1 of namespaces of its own, over a throw-away overlay of a real
 * root file system. Everything it owns ends with its one process; only the directory is removed.
 */
final class TestMachine implements AutoCloseable {
  private static final Duration START = Duration.ofSeconds(30);

  private static final String SCRIPT =
      """
      set -e
      mount -t tmpfs -o size=1g tmpfs "$2"
      mkdir "$2/upper" "$2/work" "$2/root"
      mount -t overlay -o lowerdir="$1",upperdir="$2/upper",workdir="$2/work" overlay "$2/root"
      mkdir -p "$2/root/.hopx" "$2/root/workspace"
      mount --bind "$3" "$2/root/.hopx"
      mount -t proc proc "$2/root/proc"
      mount --rbind /dev "$2/root/dev"
      mount -t sysfs -o ro sysfs "$2/root/sys"
      mount -t tmpfs -o size=8m tmpfs "$2/root/workspace/.full"  2>/dev/null || {
        mkdir "$2/root/workspace/.full"; mount -t tmpfs -o size=1m tmpfs "$2/root/workspace/.full"; }
      exec chroot "$2/root" /.hopx/init /.hopx/s
      """;

  private final Path directory;
  private final Path rootfs;
  private final Process process;
  private final GuestListener listener;

  private TestMachine(Path directory, Path rootfs, Process process, GuestListener listener) {
    this.directory = directory;
    this.rootfs = rootfs;
    this.process = process;
    this.listener = listener;
  }

  static TestMachine start() throws Exception {
    Optional<Path> rootfs = TestRootfs.find();
    String loud = "SKIPPED, THE AGENT IS NOT TESTED AGAINST A REAL GUEST: ";
    if (rootfs.isEmpty()) {
      String reason = loud + "no root file system; set HOPX_TEST_ROOTFS or prepare the templates";
      System.err.println(reason);
      Assumptions.abort(reason);
    }
    if (!System.getProperty("user.name").equals("root")) {
      String reason = loud + "namespaces and mounts need root";
      System.err.println(reason);
      Assumptions.abort(reason);
    }
    Path directory = Files.createTempDirectory("hopx-agent-test");
    Path files = Files.createDirectory(directory.resolve("fs"));
    Path guest = Files.createDirectory(directory.resolve("guest"));
    GuestBinaries binaries = GuestBinaries.extractTo(directory.resolve("bin"));
    Files.createLink(guest.resolve("init"), binaries.init());
    GuestListener listener =
        GuestListener.bind("agent-test", guest.resolve("s"), pid -> true, ChannelSettings.DEFAULT);
    Path log = directory.resolve("log");
    Process process =
        new ProcessBuilder(
                "unshare",
                "--mount",
                "--pid",
                "--net",
                "--ipc",
                "--uts",
                "--fork",
                "--kill-child",
                "--propagation",
                "private",
                "sh",
                "-c",
                SCRIPT,
                "sh",
                rootfs.get().toString(),
                files.toString(),
                guest.toString())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    TestMachine machine = new TestMachine(directory, rootfs.get(), process, listener);
    try {
      listener.channel().awaitConnected(START);
      return machine;
    } catch (Exception failure) {
      failure.addSuppressed(new IOException(Files.readString(log)));
      machine.close();
      throw failure;
    }
  }

  Guest guest() {
    return listener.channel();
  }

  /** Whether the machine has this program, for tests of one language. */
  boolean has(String path) {
    return Files.exists(rootfs.resolve(path));
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** Ends all processes of the machine. */
  void kill() {
    process.destroyForcibly().onExit().join();
  }

  /** Ends the machine and says so to those who wait for it, as the node does. */
  void end() {
    kill();
    listener.close();
  }

  @Override
  public void close() throws IOException {
    kill();
    listener.close();
    try (var paths = Files.walk(directory)) {
      for (Path path : paths.sorted(java.util.Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
  }
}
