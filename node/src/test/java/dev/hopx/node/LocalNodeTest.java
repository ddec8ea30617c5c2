package dev.hopx.node;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class LocalNodeTest {
  @Test
  void makesRunsAndDeletes() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      Sandbox sandbox = lab.create();
      assertThat(NodeLab.sh(sandbox, "echo hello; id -u; hostname"))
          .isEqualTo(new NodeLab.Result(0, "hello\n0\n" + sandbox.id()));
      lab.node().delete(sandbox.id());
      assertThat(sandbox.isAlive()).isFalse();
    }
  }
}
