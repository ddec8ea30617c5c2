package dev.hopx.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class NodeOptionsTest {
  private static final NodeOptions DEFAULTS =
      NodeOptions.defaults(Path.of("/var/lib/hopx"), Path.of("/run/hopx"));

  @ParameterizedTest
  @ValueSource(strings = {"", "9a", "Hopx", "hop-x", "hopx hopx", "hopxhopxh"})
  void refusesInstancesThatCouldNotNameLinks(String instance) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DEFAULTS.withInstance(instance))
        .withMessageContaining("instance must be 1 to 8 lower-case letters");
  }

  @Test
  void linkNamesFitTheKernel() {
    String link =
        Firewall.linkPrefix(DEFAULTS.withInstance("hopxhopx").instance()) + (Slots.MAX_SLOTS - 1);
    assertThat(link.length()).isLessThanOrEqualTo(Veth.MAXIMUM_NAME);
    Veth.requireName(link);
  }

  @Test
  void runDirectoryLeavesRoomForTheSocket() {
    Path longest = Path.of("/" + "r".repeat(NodeOptions.MAX_RUN_DIRECTORY_BYTES - 1));
    NodeOptions options = NodeOptions.defaults(Path.of("/d"), longest);
    SandboxId id = new SandboxId("7" + "x".repeat(31));
    assertThat(SandboxPaths.of(options, id).guestSocket().toString()).hasSize(107);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> NodeOptions.defaults(Path.of("/d"), Path.of(longest + "r")))
        .withMessageContaining("run-dir must be at most");
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 65_535, 65_537, 1L << 31})
  void refusesUidBases(long base) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DEFAULTS.withUidBase(base))
        .withMessageContaining("uid-base");
  }

  @Test
  void allDefaultUidRangesStayBelowTwoToThe31() {
    long end = DEFAULTS.uidBase() + (long) Slots.MAX_SLOTS * IdRange.SIZE - 1;
    assertThat(end).isLessThanOrEqualTo(IdRange.HIGHEST_ID);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"10.0.0.0", "10.0.0.0/7", "10.0.0.0/31", "10.0.0.1/24", "10.0.0.256/24", "x/16"})
  void refusesSubnets(String subnet) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DEFAULTS.withSandboxSubnet(subnet))
        .withMessageContaining("sandbox-subnet");
  }
}
