package dev.hopx.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Two hundred sandboxes come and go, and the host is as it was. */
final class NodeLeakTest {
  private static final int SANDBOXES = 200;
  private static final int AT_A_TIME = 8;
  private static final long DISK_TOLERANCE_BYTES = 1L << 20;

  @Test
  void leavesNothing() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      // The first one makes what all share: directories, the helper, threads.
      lab.node().delete(lab.create().id());
      assertThat(lab.node().awaitRemovals(Duration.ofSeconds(30))).isTrue();
      Map<String, Object> before = inventory(lab);
      long bytesBefore = bytes(lab);
      try (ExecutorService threads =
          Executors.newFixedThreadPool(AT_A_TIME, Thread.ofVirtual().factory())) {
        List<Future<?>> rounds = new ArrayList<>();
        for (int i = 0; i < SANDBOXES; i++) {
          SandboxSpec spec = lab.spec(NodeLab.SMALL, i % 4 != 0);
          rounds.add(threads.submit(() -> live(lab, spec)));
        }
        for (Future<?> round : rounds) {
          round.get();
        }
      }
      assertThat(lab.node().list()).isEmpty();
      assertThat(lab.node().awaitRemovals(Duration.ofSeconds(60))).isTrue();
      assertThat(inventory(lab)).isEqualTo(before);
      assertThat(bytes(lab) - bytesBefore).isLessThan(DISK_TOLERANCE_BYTES);
    }
  }

  private static void live(NodeLab lab, SandboxSpec spec) {
    Sandbox sandbox = lab.node().create(spec);
    assertThat(NodeLab.sh(sandbox, "head -c 100000 /dev/zero > /workspace/zeros; echo done"))
        .isEqualTo(new NodeLab.Result(0, "done"));
    lab.node().delete(spec.id());
  }

  /** All that a sandbox has on the host, as far as it can be told from what others have. */
  private static Map<String, Object> inventory(NodeLab lab) throws Exception {
    Map<String, Object> inventory = new TreeMap<>();
    inventory.put("mounts", lab.mounts());
    inventory.put("control groups", lab.controlGroups());
    inventory.put("links", lab.links());
    inventory.put(
        "nft", HostHelperLab.run("nft", "list", "table", "inet", lab.options().instance()));
    inventory.put("processes", processesOfSandboxes(lab));
    inventory.put("namespaces", namespacesOfSandboxes(lab));
    inventory.put("loop devices", lab.loopDevices());
    inventory.put("files", files(lab.options().dataDirectory(), lab.options().runDirectory()));
    return inventory;
  }

  /** Processes with a uid of one of the node's ranges. */
  private static Set<String> processesOfSandboxes(NodeLab lab) throws IOException {
    long first = lab.options().uidBase();
    long last = first + 254L * IdRange.SIZE;
    Set<String> found = new TreeSet<>();
    try (Stream<Path> processes = Files.list(Path.of("/proc"))) {
      for (Path process :
          processes.filter(path -> path.getFileName().toString().matches("[0-9]+")).toList()) {
        try {
          int uid = (Integer) Files.getAttribute(process, "unix:uid");
          if (uid >= first && uid < last && isOfLab(process, lab)) {
            found.add(process.toString());
          }
        } catch (IOException _) {
          // Ended meanwhile.
        }
      }
    }
    return found;
  }

  /** Other nodes may use the same uids while this test runs. */
  private static boolean isOfLab(Path process, NodeLab lab) throws IOException {
    return Files.readString(process.resolve("cgroup"))
        .contains("/" + lab.options().instance() + "/");
  }

  /** User and network namespaces still held by a mount of the lab. */
  private static List<String> namespacesOfSandboxes(NodeLab lab) throws IOException {
    return lab.mounts().stream().filter(line -> line.contains(" nsfs ")).toList();
  }

  private static Set<String> files(Path... directories) throws IOException {
    Set<String> names = new TreeSet<>();
    for (Path directory : directories) {
      try (Stream<Path> paths = Files.walk(directory)) {
        paths.map(Path::toString).forEach(names::add);
      }
    }
    return names;
  }

  private static long bytes(NodeLab lab) throws IOException {
    try (Stream<Path> paths = Files.walk(lab.options().dataDirectory())) {
      long bytes = 0;
      for (Path path : paths.filter(Files::isRegularFile).toList()) {
        bytes += Files.size(path);
      }
      return bytes;
    }
  }
}
