package dev.hopx.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.hopx.channel.GuestProcess;
import dev.hopx.channel.ProcessExit;
import dev.hopx.channel.Spawn;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A node of its own for tests: directories, instance, subnet and uids that nobody else has. Its end
 * removes all sandboxes and what the node had on the host, also after a failed test.
 */
final class NodeLab implements AutoCloseable {
  static final Map<String, String> ENVIRONMENT =
      Map.of("PATH", ExternalCommand.PATH, "HOME", "/root", "LANG", "C.UTF-8");

  static final Resources SMALL = new Resources(1, 512, 1024, 256);

  private static final AtomicInteger NEXT_LAB = new AtomicInteger();

  private final Path rootFileSystem;
  private final NodeOptions options;
  private final AtomicInteger nextSandbox = new AtomicInteger();
  private @Nullable LocalNode node;

  NodeLab() {
    HostHelperLab.assumeRoot();
    HostHelperLab.assumeTool("crun");
    HostHelperLab.assumeTool("nft");
    assumeControlGroups();
    rootFileSystem = TestRootFileSystem.find();
    try {
      int number = NEXT_LAB.incrementAndGet();
      long process = ProcessHandle.current().pid();
      Path data = Files.createTempDirectory("hopx-node-test").toRealPath();
      Path run = Path.of("/run/hopx-test-" + process + "-" + number);
      options =
          NodeOptions.defaults(data, run)
              .withInstance(
                  "t" + Long.toString(process % 46_656, 36) + Integer.toString(number, 36))
              .withSandboxSubnet("10.214." + (process % 256) + ".0/24");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void assumeControlGroups() {
    try {
      ControlGroupLayout.detect(MountTable.read());
    } catch (NodeException e) {
      assumeTrue(false, "SKIPPED, NOT PASSED: " + e.getMessage());
    }
  }

  NodeOptions options() {
    return options;
  }

  LocalNode node() {
    if (node == null) {
      node = LocalNode.start(options);
    }
    return node;
  }

  LocalNode start(CreationStep.Observer observer) {
    assertThat(node).as("the lab's node runs already").isNull();
    LocalNode started = LocalNode.start(options, observer);
    node = started;
    return started;
  }

  LocalNode start(NodeOptions changed) {
    assertThat(node).as("the lab's node runs already").isNull();
    LocalNode started = LocalNode.start(changed);
    node = started;
    return started;
  }

  /** The node's end without that of its sandboxes. */
  void stopNode() {
    if (node != null) {
      node.close();
      node = null;
    }
  }

  SandboxSpec spec() {
    return spec(SMALL, true);
  }

  SandboxSpec spec(Resources resources, boolean internet) {
    return new SandboxSpec(
        new SandboxId("70test%012d".formatted(nextSandbox.incrementAndGet())),
        "test@sha256:0",
        rootFileSystem,
        resources,
        internet,
        Map.of("owner", "test"));
  }

  Sandbox create(Resources resources) {
    return node().create(spec(resources, true));
  }

  SandboxSpec spec(Path otherRootFileSystem) {
    SandboxSpec spec = spec();
    return new SandboxSpec(
        spec.id(),
        spec.template(),
        otherRootFileSystem,
        spec.resources(),
        spec.internet(),
        spec.labels());
  }

  Sandbox create() {
    return node().create(spec());
  }

  /** What a command printed, and how it ended. */
  record Result(int status, String output) {}

  static Result sh(Sandbox sandbox, String script) {
    return run(sandbox, Duration.ofSeconds(30), "sh", "-c", script);
  }

  static Result run(Sandbox sandbox, Duration timeout, String... command) {
    Spawn plain = Spawn.of(List.of(command), ENVIRONMENT, "/");
    Spawn spawn =
        new Spawn(
            plain.argv(),
            plain.environment(),
            plain.workingDirectory(),
            plain.user(),
            false,
            plain.terminal(),
            true,
            false,
            "");
    try (GuestProcess process = sandbox.guest().start(spawn)) {
      CompletableFuture<String> output = new CompletableFuture<>();
      Thread.startVirtualThread(
          () -> {
            try {
              output.complete(new String(process.stdout().readAllBytes(), StandardCharsets.UTF_8));
            } catch (IOException e) {
              output.completeExceptionally(e);
            }
          });
      ProcessExit exit =
          process
              .awaitExit(timeout)
              .orElseThrow(
                  () -> {
                    process.killTree();
                    return new AssertionError(
                        "Still running after " + timeout + ": " + List.of(command));
                  });
      process.killTree();
      return new Result(exit.shellCode(), output.join().strip());
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Kills process 1 from outside and waits until it is gone. */
  static void kill(LocalSandbox sandbox) throws InterruptedException {
    sandbox.init().kill();
    for (int i = 0; i < 500 && sandbox.init().isAlive(); i++) {
      Thread.sleep(10);
    }
    assertThat(sandbox.init().isAlive()).isFalse();
  }

  /**
   * The lines of {@code /proc/self/mountinfo} that name one of the lab's directories, but for the
   * node's own mount where /run is noexec: that one stays as long as the lab.
   */
  List<String> mounts() throws IOException {
    String own = " " + options.runDirectory() + " ";
    try (Stream<String> lines = Files.lines(Path.of("/proc/self/mountinfo"))) {
      return lines
          .filter(line -> !line.contains(own))
          .filter(
              line ->
                  line.contains(options.dataDirectory().toString())
                      || line.contains(options.runDirectory().toString()))
          .toList();
    }
  }

  /** Control groups of the lab's sandboxes, in all hierarchies. */
  List<String> controlGroups() {
    ControlGroupLayout layout = ControlGroupLayout.detect(MountTable.read());
    List<String> groups = new ArrayList<>();
    for (Path place : layout.places()) {
      ControlGroupFiles.children(place.resolve(options.instance()))
          .forEach(group -> groups.add(group.toString()));
    }
    return groups;
  }

  /** Files of the lab that are attached to loop devices; the kernel may take a moment to let go. */
  List<String> loopDevices() throws Exception {
    List<String> attached = List.of();
    for (int i = 0; i < 100; i++) {
      attached =
          HostHelperLab.run("losetup", "--list", "--noheadings", "--output", "BACK-FILE")
              .lines()
              .filter(line -> line.contains(options.dataDirectory().toString()))
              .toList();
      if (attached.isEmpty()) {
        break;
      }
      Thread.sleep(20);
    }
    return attached;
  }

  List<String> links() {
    return HostNetwork.links(Firewall.linkPrefix(options.instance()));
  }

  @Override
  public void close() {
    stopNode();
    // A node of its own, whatever state the test has left the other one in.
    try (LocalNode last = LocalNode.start(options)) {
      for (Sandbox sandbox : last.list()) {
        last.delete(sandbox.id());
      }
    }
    try (HostHelper helper = HostHelper.start(options.runDirectory().resolve("bin/hopx-host"))) {
      helper.unmount(options.runDirectory());
      helper.removeTree(options.dataDirectory());
      helper.removeTree(options.runDirectory());
    }
  }
}
