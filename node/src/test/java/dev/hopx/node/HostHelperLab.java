package dev.hopx.node;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.hopx.guest.GuestBinaries;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A helper with a directory of its own, for tests: gives out pins and link names, and at its end
 * takes away whatever a failed test has left.
 */
final class HostHelperLab implements AutoCloseable {
  /** Above what a node gives out by default, so that a running instance is not disturbed. */
  private static final long FIRST_ID = 1_900_000_000L;

  static final int IDS = 65_536;

  private static final AtomicInteger NEXT = new AtomicInteger();

  private final Path directory;
  private final GuestBinaries binaries;
  private final HostHelper helper;
  private final Queue<Pair> pairs = new ConcurrentLinkedQueue<>();

  /** A pair of namespaces that has not been made yet: names and addresses that only it has. */
  record Pair(Path user, Path network, long idBase, Veth veth) {}

  HostHelperLab() {
    assumeRoot();
    try {
      directory = Files.createTempDirectory("hopx-host-test").toRealPath();
      // Root of a sandbox, an ordinary user here, has to get in.
      Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    binaries = GuestBinaries.extractTo(directory.resolve("bin"));
    helper = HostHelper.start(binaries.host());
  }

  static void assumeRoot() {
    assumeTrue(
        "root".equals(System.getProperty("user.name")),
        "SKIPPED, NOT PASSED: namespaces and mounts need root; run the tests as root");
  }

  static void assumeTool(String name) {
    boolean found =
        Stream.of(System.getenv("PATH").split(":"))
            .anyMatch(place -> Files.isExecutable(Path.of(place, name)));
    assumeTrue(found, "SKIPPED, NOT PASSED: this test needs " + name + " on the PATH; install it");
  }

  HostHelper helper() {
    return helper;
  }

  GuestBinaries binaries() {
    return binaries;
  }

  Path directory() {
    return directory;
  }

  Path makeDirectory(String name) throws IOException {
    return Files.createDirectory(directory.resolve(name));
  }

  Pair pair() {
    int number = NEXT.incrementAndGet();
    long process = ProcessHandle.current().pid();
    Pair pair =
        new Pair(
            directory.resolve("user-" + number),
            directory.resolve("network-" + number),
            FIRST_ID + (long) number * IDS,
            // TEST-NET-2, so that no network of the host has these addresses.
            new Veth(
                "hht%x-%x".formatted(process & 0xFFFFFF, number),
                "198.51.100." + (number % 254 + 1),
                "169.254.1.1",
                1400));
    pairs.add(pair);
    return pair;
  }

  Pair makePair() {
    Pair pair = pair();
    helper.createNamespaces(pair.user(), pair.network(), pair.idBase(), IDS);
    return pair;
  }

  Pair makeLinkedPair() {
    Pair pair = pair();
    helper.createNamespaces(pair.user(), pair.network(), pair.idBase(), IDS, pair.veth());
    return pair;
  }

  /** A command line that runs as root inside the pair. */
  static List<String> inside(Pair pair, String... command) {
    List<String> line =
        new ArrayList<>(
            List.of("nsenter", "--user=" + pair.user(), "--net=" + pair.network(), "--"));
    line.addAll(Arrays.asList(command));
    return line;
  }

  static String run(String... command) throws IOException, InterruptedException {
    return run(Arrays.asList(command));
  }

  /** Output of a command that has to succeed within 30 seconds. */
  static String run(List<String> command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    try {
      process.getOutputStream().close();
      String output = new String(process.getInputStream().readAllBytes(), UTF_8);
      assertThat(process.waitFor(30, TimeUnit.SECONDS)).as("ends: %s", command).isTrue();
      assertThat(process.exitValue()).as("%s printed %s", command, output).isZero();
      return output.strip();
    } finally {
      process.destroyForcibly();
    }
  }

  /** Lines of this process's mount table that show something of the lab. */
  List<String> mounts() throws IOException {
    try (Stream<String> lines = Files.lines(Path.of("/proc/self/mountinfo"))) {
      return lines.filter(line -> line.contains(directory.toString())).toList();
    }
  }

  List<String> files() throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  static boolean linkExists(String name) {
    return Files.exists(Path.of("/sys/class/net", name));
  }

  @Override
  public void close() throws IOException {
    try {
      for (Pair pair : pairs) {
        helper.removeLink(pair.veth().hostName());
        helper.unpin(pair.user());
        helper.unpin(pair.network());
      }
      // Deepest first: a mount point below another mount goes before it.
      List<String> points =
          mounts().stream()
              .map(line -> line.split(" ", -1)[4])
              .sorted((a, b) -> b.compareTo(a))
              .collect(Collectors.toCollection(ArrayList::new));
      for (String point : points) {
        helper.unmount(Path.of(point));
      }
      helper.removeTree(directory);
    } finally {
      helper.close();
    }
  }
}
