package dev.hopx.node;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.hopx.channel.GuestProcess;
import dev.hopx.channel.Spawn;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Limits hold, and only the offender pays. */
final class SandboxLimitsTest {
  private static @Nullable NodeLab lab;

  @BeforeAll
  static void open() {
    lab = new NodeLab();
  }

  @AfterAll
  static void close() {
    if (lab != null) {
      lab.close();
    }
  }

  private static NodeLab lab() {
    return requireNonNull(lab);
  }

  private static Sandbox create(int memoryMib, int processes) {
    return lab().node().create(lab().spec(new Resources(1, memoryMib, 1024, processes), false));
  }

  private static GuestProcess start(Sandbox sandbox, String... command) {
    return sandbox.guest().start(Spawn.of(List.of(command), NodeLab.ENVIRONMENT, "/"));
  }

  @Test
  void endsAForkBomb() throws Exception {
    Sandbox sandbox = create(512, 256);
    try (GuestProcess bomb =
        start(sandbox, "bash", "-c", ":(){ :|:& };: 2>/dev/null; setsid sleep 1000 & wait")) {
      LocalSandbox local = (LocalSandbox) sandbox;
      awaitProcesses(sandbox, 100);
      assertThat(NodeLab.sh(sandbox, "echo beside").output())
          .as("a command beside the bomb")
          .isEqualTo("beside");
      long begin = System.nanoTime();
      bomb.killTree();
      assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(5));
      assertThat(processes(local)).as("only process 1 is left").isEqualTo(1);
    }
    assertThat(NodeLab.sh(sandbox, "echo next")).isEqualTo(new NodeLab.Result(0, "next"));
    lab().node().delete(sandbox.id());
  }

  @Test
  void deletesInTheMiddleOfAForkBomb() throws Exception {
    Sandbox sandbox = create(512, 256);
    GuestProcess bomb = start(sandbox, "bash", "-c", ":(){ :|:& };: 2>/dev/null; sleep 1000");
    awaitProcesses(sandbox, 100);
    lab().node().delete(sandbox.id());
    bomb.close();
    assertThat(lab().controlGroups()).noneMatch(group -> group.endsWith(sandbox.id().value()));
  }

  @Test
  void killsTheTreeAndNothingElse() throws Exception {
    Sandbox sandbox = create(512, 256);
    try (GuestProcess other = start(sandbox, "sleep", "1000");
        GuestProcess tree =
            start(sandbox, "sh", "-c", "setsid sh -c 'sleep 1000 & sleep 1001' & sleep 1002")) {
      awaitProcesses(sandbox, 6);
      tree.killTree();
      tree.killTree();
      assertThat(tree.awaitExit(Duration.ofSeconds(5)))
          .hasValueSatisfying(exit -> assertThat(exit.shellCode()).isEqualTo(137));
      assertThat(other.awaitExit(Duration.ofMillis(100))).isEmpty();
      assertThat(processes((LocalSandbox) sandbox)).isEqualTo(2);
    }
    lab().node().delete(sandbox.id());
  }

  @Test
  void killsTheTreeForAnInterruptedCaller() throws Exception {
    Sandbox sandbox = create(512, 256);
    try (GuestProcess process = start(sandbox, "sleep", "1000")) {
      Thread.currentThread().interrupt();
      process.killTree();
      assertThat(Thread.interrupted()).isTrue();
      assertThat(process.awaitExit(Duration.ofSeconds(5))).isPresent();
    }
    lab().node().delete(sandbox.id());
  }

  @Test
  void controlGroupsOfExecutionsGoWhenTheyAreEmpty() throws Exception {
    Sandbox sandbox = create(512, 256);
    LocalSandbox local = (LocalSandbox) sandbox;
    SandboxGroups groups =
        new ControlGroups(ControlGroupLayout.detect(MountTable.read()), lab().options().instance())
            .of(sandbox.id());
    try (GuestProcess background = start(sandbox, "sh", "-c", "sleep 2 >/dev/null 2>&1 &")) {
      background.awaitExit();
    }
    assertThat(groups.executions()).as("a child in the background").hasSize(1);
    for (int i = 0; i < 100 && !groups.executions().isEmpty(); i++) {
      Thread.sleep(100);
    }
    assertThat(groups.executions()).isEmpty();
    assertThat(local.isAlive()).isTrue();
    lab().node().delete(sandbox.id());
  }

  @Test
  void killsWhoTakesTooMuchMemory() {
    Sandbox sandbox = create(128, 256);
    Sandbox neighbour = create(128, 256);
    NodeLab.Result result =
        NodeLab.sh(sandbox, "python3 -c 'x = bytearray(400 << 20)'; echo status $?");
    assertThat(result.output()).contains("status 137");
    assertThat(NodeLab.sh(sandbox, "echo next")).isEqualTo(new NodeLab.Result(0, "next"));
    assertThat(NodeLab.sh(neighbour, "echo next")).isEqualTo(new NodeLab.Result(0, "next"));
    assertThat(sandbox.memoryBytes()).isBetween(1L, 128L << 20);
    lab().node().delete(sandbox.id());
    lab().node().delete(neighbour.id());
  }

  @Test
  void allowsTheProcessesPromisedAndNoMore() {
    Sandbox sandbox = create(512, 64);
    String script =
        "import os, time\nn = 0\n"
            + "try:\n  while n < 200:\n"
            + "    if os.fork() == 0: time.sleep(1000)\n    n += 1\n"
            + "except BlockingIOError: print(n, flush=True)\n";
    NodeLab.Result result = NodeLab.run(sandbox, Duration.ofSeconds(30), "python3", "-c", script);
    assertThat(result.output())
        .isEqualTo(Integer.toString(64 - SandboxGroups.RESERVED_PROCESSES - 1));
    assertThat(NodeLab.sh(sandbox, "echo next").output()).isEqualTo("next");
    lab().node().delete(sandbox.id());
  }

  @Test
  void limitsProcessorTime() {
    Sandbox sandbox = create(512, 64);
    // Two busy processes on one processor's quota: half a second each in one of the clock.
    String script =
        "import os, time\nos.fork()\nend = time.monotonic() + 2\n"
            + "while time.monotonic() < end: pass\nprint(time.process_time())\n";
    NodeLab.Result result = NodeLab.run(sandbox, Duration.ofSeconds(30), "python3", "-c", script);
    double sum = result.output().lines().mapToDouble(Double::parseDouble).sum();
    assertThat(sum).isBetween(0.2, 2.6);
    lab().node().delete(sandbox.id());
  }

  private static long processes(LocalSandbox sandbox) {
    ControlGroupLayout layout = ControlGroupLayout.detect(MountTable.read());
    return layout.roots().stream()
        .mapToLong(
            root ->
                ControlGroupFiles.processes(
                        root.resolve(lab().options().instance()).resolve(sandbox.id().value()))
                    .size())
        .max()
        .orElseThrow();
  }

  private static void awaitProcesses(Sandbox sandbox, int count) throws InterruptedException {
    for (int i = 0; i < 500 && processes((LocalSandbox) sandbox) < count; i++) {
      Thread.sleep(20);
    }
    assertThat(processes((LocalSandbox) sandbox)).isGreaterThanOrEqualTo(count);
  }
}
