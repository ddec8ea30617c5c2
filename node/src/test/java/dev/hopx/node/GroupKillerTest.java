package dev.hopx.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The same kill in both versions of control groups, whichever of them this host uses. */
final class GroupKillerTest {
  private static final String FORKING =
      "echo $$ > \"$1/cgroup.procs\"; "
          + "while :; do sleep 1000 & n=$((n+1)); [ $n -ge 100 ] && break; done; "
          + "setsid sh -c 'while :; do sleep 0.01; done' & wait";

  @Test
  void killsByTheSwitchOfVersionTwo(@TempDir Path mount) throws Exception {
    HostHelperLab.assumeRoot();
    HostHelperLab.run("mount", "-t", "cgroup2", "none", mount.toString());
    try {
      assumeTrue(
          Files.exists(mount.resolve("cgroup.procs")), "SKIPPED, NOT PASSED: no cgroup2 here");
      killsAll(mount);
    } finally {
      HostHelperLab.run("umount", mount.toString());
    }
  }

  @Test
  void killsByTheFreezerOfVersionOne() throws Exception {
    HostHelperLab.assumeRoot();
    Path freezer = Path.of("/sys/fs/cgroup/freezer");
    assumeTrue(
        Files.exists(freezer.resolve("cgroup.procs")),
        "SKIPPED, NOT PASSED: this host has no version 1 freezer");
    killsAll(freezer);
  }

  private static void killsAll(Path root) throws Exception {
    Path group = root.resolve("hopx-killer-test-" + ProcessHandle.current().pid());
    Path inner = group.resolve("inner");
    Files.createDirectories(inner);
    Process process =
        new ProcessBuilder(List.of("sh", "-c", FORKING, "sh", inner.toString())).start();
    try {
      for (int i = 0; i < 500 && ControlGroupFiles.processes(group).size() < 100; i++) {
        Thread.sleep(10);
      }
      assertThat(ControlGroupFiles.processes(group)).hasSizeGreaterThanOrEqualTo(100);
      assertThat(ControlGroupFiles.remove(group)).as("in use").isFalse();
      GroupKiller.kill(group, Duration.ofSeconds(10));
      assertThat(ControlGroupFiles.processes(group)).isEmpty();
      assertThat(process.waitFor(5, TimeUnit.SECONDS)).isTrue();
    } finally {
      GroupKiller.kill(group, Duration.ofSeconds(10));
      removeSoon(group);
    }
    GroupKiller.kill(group, Duration.ofSeconds(1));
  }

  private static void removeSoon(Path group) throws InterruptedException, IOException {
    for (int i = 0; i < 100 && !ControlGroupFiles.remove(group); i++) {
      Thread.sleep(10);
    }
    assertThat(Files.exists(group)).isFalse();
  }
}
