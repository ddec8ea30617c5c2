package dev.hopx.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hopx.channel.GuestException;
import dev.hopx.channel.GuestProcess;
import dev.hopx.channel.Spawn;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Pause, resume, stop and start, and what is left of each in every state. */
final class LifecycleTest {
  /** Counts as long as it runs. */
  private static final String COUNT =
      "i=0; while :; do i=$((i+1)); echo $i > /workspace/count; sleep 0.01; done";

  @Test
  void pauseHaltsEverythingAndResumeGoesOnWithTheSameProcesses() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      LocalSandbox sandbox = (LocalSandbox) lab.create();
      SandboxId id = sandbox.id();
      try (GuestProcess echo = start(sandbox, "cat", true);
          GuestProcess counter = start(sandbox, COUNT, false)) {
        say(echo, "before\n");
        assertThat(hear(echo, 7)).isEqualTo("before\n");
        String processes = NodeLab.sh(sandbox, "ls -d /proc/[0-9]*").output();
        awaitCounting(lab, id);

        lab.node().pause(id);
        assertThat(sandbox.state()).isEqualTo(SandboxState.PAUSED);
        assertThat(sandbox.isAlive()).isTrue();
        String count = count(lab, id);
        say(echo, "while paused\n");
        Thread.sleep(300);
        assertThat(count(lab, id)).as("nothing has run").isEqualTo(count);
        assertThat(sandbox.pausedTime()).isGreaterThan(Duration.ofMillis(290));

        lab.node().resume(id);
        assertThat(sandbox.state()).isEqualTo(SandboxState.RUNNING);
        Duration paused = sandbox.pausedTime();
        assertThat(hear(echo, 13)).as("its open pipes go on").isEqualTo("while paused\n");
        assertThat(NodeLab.sh(sandbox, "ls -d /proc/[0-9]*").output().lines().toList())
            .containsAll(processes.lines().filter(line -> isLasting(line, echo, counter)).toList());
        for (int i = 0; i < 100 && count(lab, id).equals(count); i++) {
          Thread.sleep(20);
        }
        assertThat(count(lab, id)).isNotEqualTo(count);
        assertThat(sandbox.pausedTime()).as("stands still again").isEqualTo(paused);
        counter.killTree();
        echo.killTree();
      }
    }
  }

  private static boolean isLasting(String line, GuestProcess... processes) {
    return Arrays.stream(processes).anyMatch(process -> line.equals("/proc/" + process.pid()));
  }

  /** Case F4. */
  @Test
  void fiftyPausesAndResumesWithoutAGapAreQuick() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      Sandbox sandbox = lab.create();
      try (GuestProcess counter = start(sandbox, COUNT, false)) {
        long[] pauses = new long[50];
        long[] resumes = new long[50];
        for (int i = 0; i < 50; i++) {
          long begin = System.nanoTime();
          lab.node().pause(sandbox.id());
          long between = System.nanoTime();
          lab.node().resume(sandbox.id());
          pauses[i] = between - begin;
          resumes[i] = System.nanoTime() - between;
        }
        assertThat(NodeLab.sh(sandbox, "echo on").output()).isEqualTo("on");
        Arrays.sort(pauses);
        Arrays.sort(resumes);
        System.out.printf(
            "pause p50 %.2f ms, p95 %.2f ms; resume p50 %.2f ms, p95 %.2f ms%n",
            pauses[25] / 1e6, pauses[47] / 1e6, resumes[25] / 1e6, resumes[47] / 1e6);
        assertThat(Duration.ofNanos(pauses[25])).isLessThan(Duration.ofMillis(15));
        assertThat(Duration.ofNanos(resumes[25])).isLessThan(Duration.ofMillis(15));
        counter.killTree();
      }
    }
  }

  @Test
  void whatMakesNoSenseIsRefusedAndWhatIsSoAlreadyIsNot() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      SandboxId id = lab.create().id();
      LocalNode node = lab.node();
      node.resume(id);
      node.pause(id);
      node.pause(id);
      assertThat(node.start(id).state()).isEqualTo(SandboxState.PAUSED);
      node.stop(id);
      node.stop(id);
      Sandbox stopped = node.find(id).orElseThrow();
      assertThat(stopped.state()).isEqualTo(SandboxState.STOPPED);
      assertThat(stopped.memoryBytes()).isZero();
      assertThatThrownBy(stopped::guest).isInstanceOf(GuestException.class);
      assertThatThrownBy(() -> node.pause(id)).hasMessageContaining("it is stopped");
      assertThatThrownBy(() -> node.resume(id)).hasMessageContaining("it is stopped");
      SandboxId unknown = new SandboxId("70unknown000000000");
      for (Runnable call :
          List.<Runnable>of(
              () -> node.pause(unknown),
              () -> node.resume(unknown),
              () -> node.stop(unknown),
              () -> node.start(unknown))) {
        assertThatThrownBy(call::run)
            .isInstanceOf(NodeException.class)
            .hasMessageContaining("no sandbox");
      }
      LocalSandbox dead = (LocalSandbox) lab.create();
      NodeLab.kill(dead);
      assertThatThrownBy(() -> node.pause(dead.id())).hasMessageContaining("it is ended");
    }
  }

  @Test
  void stopEndsProcessesAndKeepsFilesAndStartBootsAgain() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      LocalSandbox sandbox = (LocalSandbox) lab.create();
      SandboxId id = sandbox.id();
      Files.writeString(sandbox.stateDirectory().resolve("env.json"), "{}");
      String address = NodeLab.sh(sandbox, "hostname -I 2>/dev/null || cat /etc/hosts").output();
      for (int round = 1; round <= 3; round++) {
        Sandbox running = lab.node().find(id).orElseThrow();
        NodeLab.sh(running, "echo " + round + " >> /workspace/rounds; echo x > /tmp/t; sync");
        try (GuestProcess polite =
            start(
                running,
                "trap 'echo bye >> /workspace/bye; exit 0' TERM; echo up; while :; do sleep 0.05;"
                    + " done",
                false)) {
          assertThat(hear(polite, 3)).isEqualTo("up\n");
          long begin = System.nanoTime();
          lab.node().stop(id);
          assertThat(Duration.ofNanos(System.nanoTime() - begin))
              .as("nobody waits for those who go by themselves")
              .isLessThan(LocalNode.STOP_GRACE);
        }
        assertThat(sandbox.init().isAlive()).isFalse();
        assertThat(lab.mounts()).isEmpty();
        assertThat(attached(lab)).isFalse();
        assertThat(lab.controlGroups()).isEmpty();
        assertThat(lab.links()).isEmpty();
        assertThat(Files.exists(SandboxPaths.of(lab.options(), id).run())).isFalse();

        Sandbox started = lab.node().start(id);
        assertThat(started.state()).isEqualTo(SandboxState.RUNNING);
        assertThat(lab.node().find(id)).containsSame(started);
        assertThat(NodeLab.sh(started, "wc -l < /workspace/rounds").output()).isEqualTo("" + round);
        assertThat(NodeLab.sh(started, "wc -l < /workspace/bye").output())
            .as("SIGTERM came first")
            .isEqualTo("" + round);
        assertThat(NodeLab.sh(started, "cat /proc/sys/kernel/hostname").output())
            .isEqualTo(id.value());
        assertThat(NodeLab.sh(started, "hostname -I 2>/dev/null || cat /etc/hosts").output())
            .isEqualTo(address);
        assertThat(started.created()).isEqualTo(sandbox.created());
        assertThat(started.stateDirectory().resolve("env.json")).exists();
        assertThat(NodeLab.sh(started, "cat /proc/[0-9]*/cmdline").output()).doesNotContain("trap");
      }
    }
  }

  @Test
  void whoIgnoresTheRequestIsKilledAfterTheGraceAndADeletionDoesNotWaitForIt() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      Sandbox sandbox = lab.create();
      Sandbox other = lab.create();
      try (GuestProcess stubborn = start(sandbox, "trap '' TERM; echo up; sleep 7006", false);
          GuestProcess another = start(other, "trap '' TERM; echo up; sleep 7006", false)) {
        hear(stubborn, 3);
        hear(another, 3);
        CompletableFuture<Void> stop =
            CompletableFuture.runAsync(() -> lab.node().stop(other.id()));
        while (other.state() != SandboxState.STOPPED) {
          Thread.sleep(5);
        }
        long deletion = System.nanoTime();
        lab.node().delete(other.id());
        assertThat(Duration.ofNanos(System.nanoTime() - deletion))
            .isLessThan(Duration.ofSeconds(2));
        stop.join();

        long begin = System.nanoTime();
        lab.node().stop(sandbox.id());
        assertThat(Duration.ofNanos(System.nanoTime() - begin))
            .isBetween(LocalNode.STOP_GRACE, LocalNode.STOP_GRACE.plusSeconds(3));
      }
      assertThat(lab.node().list()).extracting(Sandbox::id).containsExactly(sandbox.id());
    }
  }

  @Test
  void deleteWorksFromEveryStateAndLeavesNothing() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      LocalNode node = lab.node();
      SandboxId paused = lab.create().id();
      SandboxId stopped = lab.create().id();
      SandboxId resumed = lab.create().id();
      try (GuestProcess _ = start(node.find(paused).orElseThrow(), COUNT, false)) {
        node.pause(paused);
        node.stop(stopped);
        node.pause(resumed);
        node.resume(resumed);
        for (SandboxId id : List.of(paused, stopped, resumed)) {
          node.delete(id);
          node.delete(id);
        }
      }
      assertThat(node.awaitRemovals(Duration.ofSeconds(30))).isTrue();
      assertThat(node.list()).isEmpty();
      assertThat(lab.mounts()).isEmpty();
      assertThat(lab.loopDevices()).isEmpty();
      assertThat(lab.controlGroups()).isEmpty();
      assertThat(lab.links()).isEmpty();
      assertThat(SandboxPaths.dataDirectory(lab.options())).isEmptyDirectory();
      assertThat(SandboxPaths.runDirectory(lab.options())).isEmptyDirectory();
    }
  }

  @Test
  void aTreeKilledWhilePausedIsDeadWhenTheSandboxGoesOn() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      Sandbox sandbox = lab.create();
      try (GuestProcess counter = start(sandbox, COUNT, false)) {
        awaitCounting(lab, sandbox.id());
        lab.node().pause(sandbox.id());
        long begin = System.nanoTime();
        counter.killTree();
        assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(1));
        String count = count(lab, sandbox.id());
        lab.node().resume(sandbox.id());
        assertThat(counter.awaitExit(Duration.ofSeconds(5))).isPresent();
        assertThat(count(lab, sandbox.id())).isEqualTo(count);
      }
    }
  }

  @Test
  void aStartThatFailsLeavesTheSandboxStopped() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      AtomicReference<CreationStep> failing = new AtomicReference<>(CreationStep.SLOT);
      LocalNode node =
          lab.start(
              step -> {
                if (step == failing.get() && step != CreationStep.SLOT) {
                  throw new NodeException("on purpose");
                }
              });
      SandboxId id = node.create(lab.spec()).id();
      NodeLab.sh(node.find(id).orElseThrow(), "echo kept > /workspace/file");
      node.stop(id);
      for (CreationStep step :
          List.of(
              CreationStep.NAMESPACES,
              CreationStep.DISK,
              CreationStep.CONTAINER,
              CreationStep.READY)) {
        failing.set(step);
        assertThatThrownBy(() -> node.start(id))
            .isInstanceOf(NodeException.class)
            .hasMessageContaining("could not be started", "on purpose");
        assertThat(node.find(id).orElseThrow().state()).isEqualTo(SandboxState.STOPPED);
        assertThat(lab.mounts()).isEmpty();
        assertThat(lab.loopDevices()).isEmpty();
        assertThat(lab.controlGroups()).isEmpty();
        assertThat(lab.links()).isEmpty();
      }
      failing.set(CreationStep.SLOT);
      assertThat(NodeLab.sh(node.start(id), "cat /workspace/file").output()).isEqualTo("kept");
    }
  }

  @Test
  void pausedAndStoppedSandboxesAreAdopted() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      LocalSandbox paused = (LocalSandbox) lab.create();
      LocalSandbox stopped = (LocalSandbox) lab.create();
      NodeLab.sh(paused, "sleep 7007 >/dev/null 2>&1 &");
      NodeLab.sh(stopped, "echo kept > /workspace/file");
      lab.node().pause(paused.id());
      lab.node().stop(stopped.id());
      lab.stopNode();

      long begin = System.nanoTime();
      LocalNode node = lab.node();
      assertThat(Duration.ofNanos(System.nanoTime() - begin))
          .as("nobody waits for a paused one to dial")
          .isLessThan(LocalNode.ADOPTION_WAIT);
      assertThat(node.adoption().problems()).isEmpty();
      assertThat(node.adoption().adopted()).containsOnly(paused.id(), stopped.id());
      assertThat(node.find(paused.id()).orElseThrow().state()).isEqualTo(SandboxState.PAUSED);
      assertThat(node.find(stopped.id()).orElseThrow().state()).isEqualTo(SandboxState.STOPPED);
      assertThat(((LocalSandbox) lab.create()).slot().number())
          .as("slots of stopped ones stay theirs")
          .isNotIn(paused.slot().number(), stopped.slot().number());

      node.resume(paused.id());
      assertThat(NodeLab.sh(node.find(paused.id()).orElseThrow(), "pgrep -f 'sleep 7007'").status())
          .isZero();
      assertThat(NodeLab.sh(node.start(stopped.id()), "cat /workspace/file").output())
          .isEqualTo("kept");
    }
  }

  @Test
  void aStoppedSandboxOutlivesAReboot() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      LocalSandbox sandbox = (LocalSandbox) lab.create();
      NodeLab.sh(sandbox, "echo kept > /workspace/file");
      lab.node().stop(sandbox.id());
      lab.stopNode();
      SandboxPaths paths = SandboxPaths.of(lab.options(), sandbox.id());
      StoredSandbox stored = StoredSandbox.read(paths.record()).orElseThrow();
      String text = Files.readString(paths.record());
      Files.writeString(paths.record(), text.replace(stored.boot(), "another boot"));
      LocalNode node = lab.node();
      assertThat(NodeLab.sh(node.start(sandbox.id()), "cat /workspace/file").output())
          .isEqualTo("kept");
      lab.stopNode();
      assertThat(lab.node().adoption().adopted())
          .as("its record is of this boot now")
          .containsExactly(sandbox.id());
    }
  }

  /** As when the power is cut in the middle of a stop: it is known, the disk is as it was. */
  @Test
  void aDiskThatABootCutOffIsMendedBeforeItIsUsed() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      LocalSandbox sandbox = (LocalSandbox) lab.create();
      NodeLab.sh(sandbox, "echo kept > /workspace/file; sync");
      SandboxPaths paths = SandboxPaths.of(lab.options(), sandbox.id());
      Path cut = paths.data().resolve("cut.img");
      try (GuestProcess counter = start(sandbox, COUNT, false)) {
        awaitCounting(lab, sandbox.id());
        HostHelperLab.run("cp", "--sparse=always", paths.diskImage().toString(), cut.toString());
        counter.killTree();
      }
      assertThat(state(cut)).as("what was mounted").isEqualTo("not clean");
      lab.node().stop(sandbox.id());
      assertThat(state(paths.diskImage())).as("what was stopped").isEqualTo("clean");
      lab.stopNode();
      Files.move(cut, paths.diskImage(), StandardCopyOption.REPLACE_EXISTING);
      StoredSandbox stored = StoredSandbox.read(paths.record()).orElseThrow();
      String text = Files.readString(paths.record());
      Files.writeString(paths.record(), text.replace(stored.boot(), "another boot"));
      LocalNode node = lab.node();
      assertThat(NodeLab.sh(node.start(sandbox.id()), "cat /workspace/file").output())
          .isEqualTo("kept");
      node.stop(sandbox.id());
      assertThat(state(paths.diskImage())).isEqualTo("clean");
      HostHelperLab.run("e2fsck", "-f", "-n", paths.diskImage().toString());
    }
  }

  private static String state(Path image) throws Exception {
    return HostHelperLab.run("dumpe2fs", "-h", image.toString())
        .lines()
        .filter(line -> line.startsWith("Filesystem state:"))
        .map(line -> line.substring("Filesystem state:".length()).strip())
        .findFirst()
        .orElseThrow();
  }

  @Test
  void aStoppedSandboxKeepsItsPlaceAndItsDiskIsNotTrimmed() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      NodeOptions one = lab.options().withAdmission(new AdmissionLimits(1, 0, 0, 0));
      LocalNode node = lab.start(one);
      SandboxId id = node.create(lab.spec()).id();
      node.stop(id);
      node.trimDisks();
      assertThatThrownBy(() -> node.create(lab.spec())).isInstanceOf(NodeFullException.class);
      lab.stopNode();
      LocalNode next = lab.start(one);
      assertThatThrownBy(() -> next.create(lab.spec())).isInstanceOf(NodeFullException.class);
      assertThat(NodeLab.sh(next.start(id), "echo on").output()).isEqualTo("on");
      next.stop(id);
      next.delete(id);
      assertThat(NodeLab.sh(next.create(lab.spec()), "echo room").output()).isEqualTo("room");
    }
  }

  /** At once, without the moment that the kernel may take after a deletion. */
  private static boolean attached(NodeLab lab) throws Exception {
    return HostHelperLab.run("losetup", "--list", "--noheadings", "--output", "BACK-FILE")
        .contains(lab.options().dataDirectory().toString());
  }

  @Test
  void readsRecordsOfServersThatKnewNoStop() {
    try (NodeLab lab = new NodeLab()) {
      LocalSandbox sandbox = (LocalSandbox) lab.create();
      lab.stopNode();
      SandboxPaths paths = SandboxPaths.of(lab.options(), sandbox.id());
      String text = read(paths);
      String old = text.replaceFirst(",\"stopped\":null", "");
      assertThat(old).isNotEqualTo(text);
      AtomicFile.write(paths.record(), old.getBytes(StandardCharsets.UTF_8));
      assertThat(lab.node().find(sandbox.id()).orElseThrow().state())
          .isEqualTo(SandboxState.RUNNING);
    }
  }

  /** Case F5. */
  @ParameterizedTest
  @CsvSource({"pr, 20", "pr, 31", "pr, 47", "xs, 30", "xs, 90", "xs, 170", "pxs, 60", "pxs, 140"})
  void aServerKilledInTheMiddleLeavesAStateToGoOnFrom(String moves, int milliseconds)
      throws Exception {
    try (NodeLab lab = new NodeLab()) {
      Process server =
          AdoptionTest.startServer(
              DoomedMover.class,
              DoomedMover.arguments(lab.options(), TestRootFileSystem.find(), moves));
      try {
        assertThat(AdoptionTest.awaitReady(server)).contains(DoomedServer.READY);
        Thread.sleep(milliseconds);
      } finally {
        server.destroyForcibly().waitFor();
      }
      LocalNode node = lab.node();
      SandboxId id = DoomedMover.SANDBOX;
      assertThat(node.adoption().problems()).isEmpty();
      assertThat(node.adoption().adopted()).containsExactly(id);
      SandboxState found = node.find(id).orElseThrow().state();
      if (found == SandboxState.STOPPED) {
        assertThat(lab.mounts()).isEmpty();
        assertThat(attached(lab)).isFalse();
        assertThat(lab.controlGroups()).isEmpty();
        node.start(id);
      } else {
        node.resume(id);
      }
      Sandbox sandbox = node.find(id).orElseThrow();
      assertThat(NodeLab.sh(sandbox, "cat /workspace/file").output()).isEqualTo("kept");
      if (moves.equals("pr")) {
        assertThat(NodeLab.sh(sandbox, "pgrep -f 'sleep 7005'").status()).isZero();
      }
      node.delete(id);
      assertThat(node.awaitRemovals(Duration.ofSeconds(30))).isTrue();
      assertThat(lab.mounts()).isEmpty();
      assertThat(lab.controlGroups()).isEmpty();
      assertThat(lab.links()).isEmpty();
    }
  }

  private static String read(SandboxPaths paths) {
    try {
      return Files.readString(paths.record());
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static void awaitCounting(NodeLab lab, SandboxId id) throws Exception {
    Path file = SandboxPaths.of(lab.options(), id).upper().resolve("workspace/count");
    for (int i = 0; i < 500 && !Files.exists(file); i++) {
      Thread.sleep(10);
    }
    assertThat(file).exists();
  }

  /** Read on the host: nothing inside has to run for it. */
  private static String count(NodeLab lab, SandboxId id) throws IOException {
    return Files.readString(SandboxPaths.of(lab.options(), id).upper().resolve("workspace/count"));
  }

  private static GuestProcess start(Sandbox sandbox, String script, boolean stdin) {
    Spawn spawn = Spawn.of(List.of("sh", "-c", script), NodeLab.ENVIRONMENT, "/");
    return sandbox.guest().start(stdin ? spawn.withStdin() : spawn);
  }

  private static void say(GuestProcess process, String text) throws IOException {
    process.stdin().write(text.getBytes(StandardCharsets.UTF_8));
    process.stdin().flush();
  }

  private static String hear(GuestProcess process, int bytes) throws IOException {
    InputStream output = process.stdout();
    return new String(output.readNBytes(bytes), StandardCharsets.UTF_8);
  }
}
