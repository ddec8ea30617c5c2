package dev.hopx.node;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.hopx.channel.GuestProcess;
import dev.hopx.channel.Spawn;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * One sandbox takes all it can get of something and holds it; then its neighbour and the host do
 * the same thing once.
 */
final class ExhaustionTest {
  /** Says how much it got, and holds it until its input ends. */
  private static final String HOLD = "print('got', n, flush=True)\nsys.stdin.read()\n";

  private static final String INOTIFY =
      """
      import ctypes, os, sys
      libc = ctypes.CDLL(None)
      n = 0
      while n < 5000 and libc.inotify_init1(0) >= 0: n += 1
      """;

  private static final String TERMINALS =
      """
      import os, sys
      n, held = 0, []
      try:
        while n < 6000:
          held.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)); n += 1
      except OSError: pass
      """;

  private static final String FILES =
      """
      import os, sys
      n, held = 0, []
      try:
        while n < 2000000:
          held.append(os.dup(0)); n += 1
      except OSError: pass
      """;

  private static final String PROCESSES =
      """
      import os, signal, sys
      n = 0
      try:
        while n < 5000:
          if os.fork() == 0: signal.pause()
          n += 1
      except OSError: pass
      """;

  private static final String CONNECTIONS =
      """
      import socket, sys
      n, refused = 0, 0
      while n < 4600:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
          s.connect(("198.51.100.%d" % (1 + n % 250), 1024 + n // 250)); s.send(b"x")
        except OSError: refused += 1
        s.close(); n += 1
      """;

  private static final String NEIGHBOURS =
      """
      import socket, sys
      n = 0
      s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
      for a in range(256):
        for b in range(0, 256, 13):
          for net in ("169.254.%d.%d", "10.213.%d.%d", "127.1.%d.%d"):
            try: s.sendto(b"x", (net % (a, b), 9))
            except OSError: pass
            n += 1
      """;

  private static final String DISK =
      """
      import os, sys
      n = 0
      try:
        with open("/workspace/big", "wb") as f:
          while n < 2000: f.write(bytes(1 << 20)); f.flush(); n += 1
      except OSError: pass
      """;

  /** The kernel forgets now and then one that is just being made. */
  private static final long COUNTING_SLACK = 16;

  private static @Nullable NodeLab lab;
  private static @Nullable Sandbox greedy;
  private static @Nullable Sandbox neighbour;

  @BeforeAll
  static void open() {
    lab = new NodeLab();
    greedy = lab.create(NodeLab.SMALL);
    neighbour = lab.create(NodeLab.SMALL);
  }

  @AfterAll
  static void close() {
    if (lab != null) {
      lab.close();
    }
  }

  private static LocalSandbox greedy() {
    return (LocalSandbox) requireNonNull(greedy);
  }

  private static Sandbox neighbour() {
    return requireNonNull(neighbour);
  }

  @Test
  void inotifyInstances() throws Exception {
    whileExhausted(
        INOTIFY,
        got -> {
          assertThat(got).isBetween(1L, 4999L);
          assertWorks("import ctypes; assert ctypes.CDLL(None).inotify_init1(0) >= 0");
        });
  }

  @Test
  void terminals() throws Exception {
    whileExhausted(
        TERMINALS,
        got -> {
          assertThat(got).isEqualTo(RuntimeConfiguration.MAX_TERMINALS);
          assertWorks("import os; os.openpty()");
        });
  }

  @Test
  void openFiles() throws Exception {
    whileExhausted(
        FILES,
        got -> {
          assertThat(got).isLessThan(RuntimeConfiguration.MAX_OPEN_FILES);
          assertThat(NodeLab.sh(greedy(), "cat /etc/hostname").output())
              .as("another process of the same sandbox")
              .isEqualTo(greedy().id().value());
          assertWorks("import os; os.dup(0)");
        });
  }

  @Test
  void processes() throws Exception {
    whileExhausted(
        PROCESSES,
        got -> {
          assertThat(got).isLessThan(NodeLab.SMALL.processes());
          assertWorks("import os; os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)");
        });
  }

  @Test
  void disk() throws Exception {
    whileExhausted(
        DISK,
        got -> {
          assertThat(got).isBetween(800L, 1024L);
          assertWorks("open('/var/tmp/probe', 'wb').write(bytes(1 << 20))");
        });
    assertThat(NodeLab.sh(greedy(), "rm /workspace/big; sync; echo $?").output()).isEqualTo("0");
    requireNonNull(lab).node().trimDisks();
    Path image = SandboxPaths.of(requireNonNull(lab).options(), greedy().id()).diskImage();
    assertThat(HostHelperLab.run("du", "-m", image.toString()).split("\\s")[0])
        .satisfies(mib -> assertThat(Long.parseLong(mib)).isLessThan(50));
    Files.deleteIfExists(Path.of("/var/tmp/probe"));
  }

  @Test
  void connectionsOfTheHostsTable() throws Exception {
    Path table = Path.of("/proc/net/nf_conntrack");
    assumeTrue(
        Files.exists(table),
        "SKIPPED, NOT PASSED: this kernel does not show its table of connections");
    int share = HostNetwork.connectionsOfOne();
    assertThat(share)
        .isEqualTo(
            HostNetwork.connectionsOfOne(
                Long.parseLong(
                    HostHelperLab.run("cat", "/proc/sys/net/netfilter/nf_conntrack_max"))));
    whileExhausted(
        CONNECTIONS,
        got -> {
          assertThat(got).isGreaterThan(share);
          assertThat(connections(table, greedy())).isBetween(share / 2L, share + COUNTING_SLACK);
          assertThat(
                  NodeLab.run(
                          greedy(),
                          java.time.Duration.ofSeconds(10),
                          "python3",
                          "-c",
                          "import socket\n"
                              + "s = socket.create_connection(('198.51.100.7', 80), 5)")
                      .output())
              .as("refused at once")
              .contains("ConnectionRefusedError");
          NodeLab.Result result =
              NodeLab.run(
                  neighbour(),
                  java.time.Duration.ofSeconds(10),
                  "python3",
                  "-c",
                  "import socket\n"
                      + "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                      + "s.connect(('198.51.100.7', 9)); s.send(b'x'); s.send(b'y')");
          assertThat(result).isEqualTo(new NodeLab.Result(0, ""));
          assertThat(connections(table, (LocalSandbox) neighbour())).isPositive();
        });
  }

  @Test
  void oneSandboxesShareOfConnectionsHasBounds() {
    assertThat(HostNetwork.connectionsOfOne(0)).isEqualTo(512);
    assertThat(HostNetwork.connectionsOfOne(65_536)).isEqualTo(1024);
    assertThat(HostNetwork.connectionsOfOne(1L << 40)).isEqualTo(4096);
  }

  private static long connections(Path table, LocalSandbox sandbox) {
    String source = "src=" + sandbox.slot().address() + " ";
    try (Stream<String> lines = Files.lines(table)) {
      return lines.filter(line -> line.indexOf(source) > 0).count();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** The table of neighbours is one for all network namespaces. */
  @Test
  void neighbourEntries() throws Exception {
    requireNonNull(lab).node();
    assertThat(
            Long.parseLong(HostHelperLab.run("cat", "/proc/sys/net/ipv4/neigh/default/gc_thresh3")))
        .isGreaterThanOrEqualTo(32_768);
    whileExhausted(
        NEIGHBOURS,
        got -> {
          assertThat(got).isGreaterThan(10_000);
          assertThat(NodeLab.sh(greedy(), "tail -n +2 /proc/net/arp | wc -l").output())
              .as("the gateway is its only neighbour")
              .isIn("0", "1");
          try {
            assertThat(
                    HostHelperLab.run("ip", "neigh", "show", "dev", greedy().slot().link())
                        .lines()
                        .count())
                .isLessThanOrEqualTo(1);
          } catch (Exception e) {
            throw new AssertionError(e);
          }
          assertThat(NodeLab.sh(neighbour(), "getent hosts localhost >/dev/null; echo $?").output())
              .isEqualTo("0");
        });
  }

  /** The script sets n and holds what it got; {@code check} is given n. */
  private static void whileExhausted(String script, Consumer<Long> check) throws Exception {
    Spawn spawn =
        Spawn.of(List.of("python3", "-c", script + HOLD), NodeLab.ENVIRONMENT, "/").withStdin();
    GuestProcess process = greedy().guest().start(spawn);
    try {
      BufferedReader output =
          new BufferedReader(new InputStreamReader(process.stdout(), StandardCharsets.UTF_8));
      String line = output.readLine();
      assertThat(line)
          .withFailMessage(
              () -> "It said: " + line + " " + new String(readAll(process), StandardCharsets.UTF_8))
          .startsWith("got ");
      check.accept(Long.parseLong(line.substring("got ".length())));
    } finally {
      process.killTree();
      process.close();
    }
    assertThat(NodeLab.sh(greedy(), "echo alive").output()).isEqualTo("alive");
  }

  private static byte[] readAll(GuestProcess process) {
    try {
      return process.stderr().readAllBytes();
    } catch (IOException e) {
      return e.toString().getBytes(StandardCharsets.UTF_8);
    }
  }

  /** Once in the neighbour, once on the host. */
  private static void assertWorks(String python) {
    assertThat(NodeLab.run(neighbour(), java.time.Duration.ofSeconds(20), "python3", "-c", python))
        .as("in the neighbour")
        .isEqualTo(new NodeLab.Result(0, ""));
    try {
      HostHelperLab.run("python3", "-c", python);
    } catch (Exception e) {
      throw new AssertionError("On the host: " + python, e);
    }
  }
}
