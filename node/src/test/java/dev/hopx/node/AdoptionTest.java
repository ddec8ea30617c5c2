package dev.hopx.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hopx.channel.GuestProcess;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A new server finds what an earlier one has left, however that one ended. */
final class AdoptionTest {
  @Test
  void sandboxesOutliveTheKilledServer() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      killServerWith(lab, 3);
      LocalNode node = lab.node();
      assertThat(node.adoption().adopted()).hasSize(3);
      assertThat(node.adoption().removed()).isEmpty();
      assertThat(node.adoption().problems()).isEmpty();
      assertThat(node.list()).hasSize(3);
      for (int i = 0; i < 3; i++) {
        Sandbox sandbox = node.list().get(i);
        assertThat(sandbox.isAlive()).isTrue();
        assertThat(sandbox.spec().labels()).containsEntry("number", Integer.toString(i));
        assertThat(NodeLab.sh(sandbox, "cat /workspace/file").output()).isEqualTo("file-" + i);
        assertThat(NodeLab.sh(sandbox, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").output())
            .as("the foreground is dead with its whole tree, the rest lives")
            .doesNotContain("sleep 7001", "sleep 7002")
            .contains("sleep 7003");
      }
      goesOnWithKeptProcess(node.list().getFirst());
      assertThat(lab.create())
          .as("takes a slot of its own")
          .satisfies(
              sandbox ->
                  assertThat(node.list())
                      .extracting(other -> ((LocalSandbox) other).slot().number())
                      .doesNotHaveDuplicates());
    }
  }

  private static void goesOnWithKeptProcess(Sandbox sandbox) throws Exception {
    assertThat(sandbox.keptProcesses())
        .extracting(KeptProcess::tag)
        .containsExactly("job in the background");
    try (GuestProcess process = sandbox.keptProcesses().getFirst().process()) {
      BufferedReader output =
          new BufferedReader(new InputStreamReader(process.stdout(), StandardCharsets.UTF_8));
      // Nobody has read the first server's end of it, so nothing is missing.
      for (int line = 1; line <= 20_000; line++) {
        assertThat(output.readLine()).isEqualTo("line " + line);
      }
      process.killTree();
      assertThat(process.awaitExit(Duration.ofSeconds(5))).isPresent();
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"RECORD", "DISK", "FILES", "CONTROL_GROUPS", "HANDSHAKE", "READY"})
  void removesWhatAServerHadHalfMade(CreationStep last) throws Exception {
    try (NodeLab lab = new NodeLab()) {
      Process server =
          startServer(DoomedServer.arguments(lab.options(), TestRootFileSystem.find(), last));
      try {
        awaitReady(server);
        assertThat(server.waitFor()).isEqualTo(9);
      } finally {
        server.destroyForcibly();
      }
      LocalNode node = lab.node();
      assertThat(node.adoption().removed()).hasSize(1);
      assertThat(node.adoption().problems()).isEmpty();
      assertThat(node.list()).isEmpty();
      assertThat(node.awaitRemovals(Duration.ofSeconds(30))).isTrue();
      assertThat(lab.mounts()).isEmpty();
      assertThat(lab.loopDevices()).isEmpty();
      assertThat(lab.controlGroups()).isEmpty();
      assertThat(lab.links()).isEmpty();
    }
  }

  @Test
  void aSpoiltRecordOfADeadSandboxIsRemovedOneOfALivingKept() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      LocalSandbox dead = (LocalSandbox) lab.create();
      LocalSandbox alive = (LocalSandbox) lab.create();
      byte[] record = Files.readAllBytes(SandboxPaths.of(lab.options(), alive.id()).record());
      lab.stopNode();
      NodeLab.kill(dead);
      for (LocalSandbox sandbox : List.of(dead, alive)) {
        Files.writeString(SandboxPaths.of(lab.options(), sandbox.id()).record(), "{\"id\":");
      }
      LocalNode node = lab.node();
      assertThat(node.adoption().removed()).containsExactly(dead.id());
      assertThat(node.adoption().problems())
          .singleElement()
          .asString()
          .contains(alive.id().value(), "Cannot understand");
      assertThat(alive.init().isAlive()).isTrue();
      assertThat(((LocalSandbox) lab.create()).slot().link())
          .as("a link of its own, not that of the sandbox nobody knows")
          .isNotEqualTo(alive.slot().link());
      lab.stopNode();
      Files.write(SandboxPaths.of(lab.options(), alive.id()).record(), record);
      assertThat(lab.node().adoption().adopted()).contains(alive.id()).hasSize(2);
    }
  }

  @Test
  void adoptsTwiceAndDeletes() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      SandboxId id = lab.create().id();
      lab.stopNode();
      lab.node();
      lab.stopNode();
      Sandbox sandbox = lab.node().find(id).orElseThrow();
      assertThat(NodeLab.sh(sandbox, "echo here").output()).isEqualTo("here");
      lab.node().delete(id);
      assertThat(lab.node().list()).isEmpty();
      assertThat(lab.node().awaitRemovals(Duration.ofSeconds(30))).isTrue();
      assertThat(lab.links()).isEmpty();
      assertThat(lab.controlGroups()).isEmpty();
      assertThat(lab.mounts()).isEmpty();
    }
  }

  @Test
  void removesWhatIsDead() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      LocalSandbox dead = (LocalSandbox) lab.create();
      Sandbox alive = lab.create();
      lab.stopNode();
      NodeLab.kill(dead);
      assertThat(lab.node().adoption().removed()).containsExactly(dead.id());
      assertThat(lab.node().adoption().adopted()).containsExactly(alive.id());
      assertThat(lab.links()).hasSize(1);
      assertThat(lab.controlGroups()).allMatch(group -> group.endsWith(alive.id().value()));
    }
  }

  @Test
  void noticesTheEndOfProcessOne() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      LocalSandbox sandbox = (LocalSandbox) lab.create();
      NodeLab.kill(sandbox);
      for (int i = 0; i < 100 && sandbox.isAlive(); i++) {
        Thread.sleep(50);
      }
      assertThat(sandbox.isAlive()).isFalse();
      lab.node().delete(sandbox.id());
      assertThat(lab.node().awaitRemovals(Duration.ofSeconds(30))).isTrue();
      assertThat(lab.mounts()).isEmpty();
    }
  }

  @Test
  void afterRebootOnlyDirectoriesAreLeftToRemove() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      LocalSandbox sandbox = (LocalSandbox) lab.create();
      lab.stopNode();
      Path record = SandboxPaths.of(lab.options(), sandbox.id()).record();
      NodeLab.kill(sandbox);
      // This test's own process has taken the number of the old process 1.
      StoredSandbox stored = StoredSandbox.read(record).orElseThrow();
      ProcessIdentity self = ProcessIdentity.of(ProcessHandle.current().pid()).orElseThrow();
      new StoredSandbox(
              stored.id(),
              stored.template(),
              stored.rootFileSystem(),
              stored.resources(),
              stored.internet(),
              stored.labels(),
              stored.isolation(),
              stored.created(),
              stored.slot(),
              "another boot",
              java.util.Optional.of(self),
              java.util.Optional.empty())
          .write(record);
      assertThat(lab.node().adoption().removed()).containsExactly(sandbox.id());
      assertThat(Files.exists(record)).isFalse();
    }
  }

  @Test
  void refusesToShareARunDirectory() {
    try (NodeLab lab = new NodeLab()) {
      lab.node();
      org.assertj.core.api.Assertions.assertThatThrownBy(() -> LocalNode.start(lab.options()))
          .isInstanceOf(NodeException.class)
          .hasMessageContaining("Another server uses");
    }
  }

  private static Process startServer(List<String> arguments) throws IOException {
    return startServer(DoomedServer.class, arguments);
  }

  static Process startServer(Class<?> program, List<String> arguments) throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "--add-exports",
                "java.base/sun.nio.ch=ALL-UNNAMED",
                "-Xmx128m",
                "-cp",
                System.getProperty("java.class.path"),
                program.getName()));
    command.addAll(arguments);
    return new ProcessBuilder(command).redirectErrorStream(true).start();
  }

  private static void killServerWith(NodeLab lab, int count) throws Exception {
    Process server =
        startServer(DoomedServer.arguments(lab.options(), count, TestRootFileSystem.find()));
    try {
      assertThat(awaitReady(server)).as("what the server printed").contains(DoomedServer.READY);
    } finally {
      server.destroyForcibly();
      assertThat(server.waitFor(10, TimeUnit.SECONDS)).isTrue();
    }
  }

  static String awaitReady(Process server) throws IOException {
    StringBuilder text = new StringBuilder();
    BufferedReader output = server.inputReader(StandardCharsets.UTF_8);
    for (String line = output.readLine(); line != null; line = output.readLine()) {
      text.append(line).append('\n');
      if (line.equals(DoomedServer.READY)) {
        break;
      }
    }
    return text.toString();
  }
}
