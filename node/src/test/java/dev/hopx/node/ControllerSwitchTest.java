package dev.hopx.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ControllerSwitchTest {
  @TempDir private Path directory;

  @Test
  void enablesWhatIsMissingInOneWrite() throws Exception {
    // Not a kernel's file: it keeps what was written last.
    Path file = Files.writeString(directory.resolve("cgroup.subtree_control"), "cpu\n");
    ControllerSwitch.enable(directory);
    assertThat(file).hasContent("+memory +pids");
    Files.writeString(file, "\n");
    ControllerSwitch.enable(directory);
    assertThat(file).hasContent("+memory +cpu +pids");
  }

  @Test
  void writesNothingWhereNothingIsMissing() throws Exception {
    Path file =
        Files.writeString(directory.resolve("cgroup.subtree_control"), "cpuset cpu memory pids\n");
    FileTime before = FileTime.fromMillis(1000);
    Files.setLastModifiedTime(file, before);
    ControllerSwitch.enable(directory);
    assertThat(Files.getLastModifiedTime(file)).isEqualTo(before);
  }

  @Test
  void saysWhatToDoInAContainer() {
    assertThatThrownBy(() -> ControllerSwitch.enableRoot(directory))
        .isInstanceOf(NodeException.class)
        .hasMessageContaining("[memory, cpu, pids]")
        .hasMessageContaining("container");
  }

  /** As in a container: processes are in the group that is to give its controllers away. */
  @Test
  void theKernelRefusesWhereProcessesAre() throws Exception {
    HostHelperLab.assumeRoot();
    Path root = Path.of("/sys/fs/cgroup");
    assumeTrue(
        Files.exists(root.resolve("cgroup.controllers")),
        "SKIPPED, NOT PASSED: this host has no pure version 2 layout");
    ControllerSwitch.enable(root);
    Path group = Files.createDirectory(root.resolve("hopxtswitch" + ProcessHandle.current().pid()));
    Process process = new ProcessBuilder("sleep", "1000").start();
    try {
      Path processes = group.resolve(ControlGroupFiles.PROCESSES);
      ControlGroupFiles.write(processes, Long.toString(process.pid()));
      assertThatThrownBy(() -> ControllerSwitch.enableRoot(group))
          .hasMessageContaining("busy")
          .hasMessageContaining("container");
      ControlGroupFiles.make(group.resolve("init"));
      ControlGroupFiles.write(
          group.resolve("init").resolve(ControlGroupFiles.PROCESSES), Long.toString(process.pid()));
      ControllerSwitch.enableRoot(group);
      assertThat(
              ControllerSwitch.words(
                  ControlGroupFiles.readText(group.resolve("cgroup.subtree_control"))))
          .contains("memory", "cpu", "pids");
    } finally {
      process.destroyForcibly().waitFor();
      removeSoon(group);
    }
  }

  /** The last process may be on its way out. */
  private static void removeSoon(Path group) throws InterruptedException {
    for (int i = 0; i < 100 && !ControlGroupFiles.remove(group); i++) {
      Thread.sleep(10);
    }
    assertThat(group).doesNotExist();
  }
}
