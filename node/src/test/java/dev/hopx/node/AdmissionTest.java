package dev.hopx.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class AdmissionTest {
  private static final Resources OF_512_MIB = new Resources(1, 512, 1024, 256);
  private static final SandboxId ONE = new SandboxId("70test000000000001");
  private static final SandboxId TWO = new SandboxId("70test000000000002");
  private static final SandboxId THREE = new SandboxId("70test000000000003");

  @TempDir private Path directory;

  private Admission admission(AdmissionLimits limits) {
    return new Admission(limits, directory);
  }

  @Test
  void boundsTheNumberOfSandboxes() {
    Admission admission = admission(new AdmissionLimits(2, 0, 0, 0));
    admission.admit(ONE, OF_512_MIB);
    admission.adopt(TWO, OF_512_MIB);
    assertThatThrownBy(() -> admission.admit(THREE, OF_512_MIB))
        .isInstanceOf(NodeFullException.class)
        .hasMessageContaining("max-sandboxes");
    assertThatThrownBy(() -> admission.requireRoom(OF_512_MIB))
        .isInstanceOf(NodeFullException.class);
    admission.release(ONE);
    admission.release(ONE);
    admission.admit(THREE, OF_512_MIB);
    assertThatThrownBy(() -> admission.admit(ONE, OF_512_MIB))
        .isInstanceOf(NodeFullException.class);
  }

  @Test
  void boundsTheSumOfMemoryLimitsAtTheEdge() {
    Admission admission = admission(new AdmissionLimits(10, 1024, 0, 0));
    admission.admit(ONE, OF_512_MIB);
    admission.admit(TWO, OF_512_MIB);
    assertThatThrownBy(() -> admission.admit(THREE, new Resources(1, 64, 64, 64)))
        .isInstanceOf(NodeFullException.class)
        .hasMessageContaining("max-memory");
    admission.release(TWO);
    assertThatCode(() -> admission.admit(THREE, OF_512_MIB)).doesNotThrowAnyException();
  }

  @Test
  void keepsMemoryAndDiskFree() {
    assertThatThrownBy(
            () -> admission(new AdmissionLimits(10, 0, Long.MAX_VALUE, 0)).admit(ONE, OF_512_MIB))
        .isInstanceOf(NodeFullException.class)
        .hasMessageContaining("min-free-memory");
    assertThatThrownBy(
            () -> admission(new AdmissionLimits(10, 0, 0, Long.MAX_VALUE)).admit(ONE, OF_512_MIB))
        .isInstanceOf(NodeFullException.class)
        .hasMessageContaining("min-free-disk");
    assertThatCode(() -> admission(new AdmissionLimits(10, 0, 1, 1)).admit(ONE, OF_512_MIB))
        .doesNotThrowAnyException();
  }

  @Test
  void readsWhatIsAvailable() {
    assertThat(Admission.availableMib(List.of("MemTotal: 9 kB", "MemAvailable:    2097152 kB")))
        .isEqualTo(2048);
  }

  @Test
  void aFullNodeMakesNothingAndTakesAnotherOnceThereIsRoom() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      LocalNode node = lab.start(lab.options().withAdmission(new AdmissionLimits(1, 0, 0, 0)));
      Sandbox first = node.create(lab.spec());
      SandboxSpec second = lab.spec();
      assertThatThrownBy(() -> node.create(second)).isInstanceOf(NodeFullException.class);
      try (Stream<Path> directories = Files.list(SandboxPaths.dataDirectory(lab.options()))) {
        assertThat(directories).hasSize(1);
      }
      assertThat(lab.links()).hasSize(1);
      node.delete(first.id());
      assertThat(NodeLab.sh(node.create(second), "echo room").output()).isEqualTo("room");
    }
  }

  @Test
  void aFailedCreationLeavesItsPlace() {
    try (NodeLab lab = new NodeLab()) {
      LocalNode node = lab.start(lab.options().withAdmission(new AdmissionLimits(1, 0, 0, 0)));
      assertThatThrownBy(() -> node.create(lab.spec(Path.of("/nowhere/root"))))
          .isInstanceOf(NodeException.class);
      assertThat(NodeLab.sh(node.create(lab.spec()), "echo room").output()).isEqualTo("room");
    }
  }
}
