package dev.hopx.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ControlGroupLayoutTest {
  @TempDir private Path directory;

  private String separate(String name) {
    return "30 20 0:1 / %s/%s rw,nosuid - cgroup cgroup rw,%s".formatted(directory, name, name);
  }

  private List<String> separate() {
    return new ArrayList<>(
        List.of(
            separate("memory"),
            separate("cpu,cpuacct"),
            separate("pids"),
            separate("freezer"),
            separate("name=systemd")));
  }

  private String unified(Path mount) {
    return "31 20 0:2 / %s rw,nosuid shared:4 - cgroup2 cgroup2 rw".formatted(mount);
  }

  private static ControlGroupLayout detect(List<String> lines) {
    return ControlGroupLayout.detect(MountTable.parse(lines));
  }

  @Test
  void findsControllersThatShareAHierarchy() {
    ControlGroupLayout layout = detect(separate());
    assertThat(layout.unified()).isFalse();
    assertThat(layout.controllers())
        .containsEntry("cpu", directory.resolve("cpu,cpuacct"))
        .containsEntry("cpuacct", directory.resolve("cpu,cpuacct"));
    assertThat(layout.roots()).hasSize(5);
    assertThat(layout.hidden()).containsExactly(directory.resolve("unified"));
  }

  @Test
  void findsTheUnifiedHierarchy() throws Exception {
    Files.writeString(directory.resolve("cgroup.controllers"), "cpuset cpu io memory pids\n");
    ControlGroupLayout layout = detect(List.of(unified(directory)));
    assertThat(layout.unified()).isTrue();
    assertThat(layout.roots()).containsExactly(directory);
  }

  @Test
  void refusesAUnifiedHierarchyWithoutAControllerAndSaysWhatToDo() throws Exception {
    Files.writeString(directory.resolve("cgroup.controllers"), "cpuset cpu io pids\n");
    assertThatThrownBy(() -> detect(List.of(unified(directory))))
        .isInstanceOf(NodeException.class)
        .hasMessageContaining("[memory]")
        .hasMessageContaining("cgroup_disable=");
    Files.writeString(directory.resolve("cgroup.controllers"), "\n");
    assertThatThrownBy(() -> detect(List.of(unified(directory))))
        .hasMessageContaining("[memory, cpu, pids]");
  }

  @Test
  void refusesTheHybridLayoutWithControllersAndSaysWhatToDo() throws Exception {
    Files.writeString(directory.resolve("cgroup.controllers"), "hugetlb\n");
    List<String> lines = separate();
    lines.add(unified(directory));
    assertThatThrownBy(() -> detect(lines))
        .isInstanceOf(NodeException.class)
        .hasMessageContaining("hybrid")
        .hasMessageContaining("hugetlb")
        .hasMessageContaining("./hopx up");
  }

  @Test
  void takesTheHybridLayoutWithoutControllers() throws Exception {
    Files.writeString(directory.resolve("cgroup.controllers"), "\n");
    List<String> lines = separate();
    lines.add(unified(directory));
    ControlGroupLayout layout = detect(lines);
    assertThat(layout.unified()).isFalse();
    assertThat(layout.roots()).hasSize(6).contains(directory);
    assertThat(layout.hidden()).isEmpty();
  }

  @Test
  void namesAMissingController() {
    List<String> lines = separate();
    lines.remove(separate("freezer"));
    assertThatThrownBy(() -> detect(lines)).hasMessageContaining("freezer is not mounted");
    assertThatThrownBy(() -> detect(List.of())).hasMessageContaining("No control groups");
  }

  @Test
  void mountPointsWithBlanksAreRead() {
    MountTable table =
        MountTable.parse(
            List.of(
                "1 0 8:1 / / rw - ext4 /dev/a rw",
                "2 1 8:2 / /a\\040b rw,noexec - tmpfs tmpfs rw"));
    assertThat(table.of(Path.of("/a b/c")).options()).containsExactlyInAnyOrder("rw", "noexec");
    assertThat(table.of(Path.of("/a")).type()).isEqualTo("ext4");
  }
}
