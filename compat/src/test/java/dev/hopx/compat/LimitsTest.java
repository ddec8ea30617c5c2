package dev.hopx.compat;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

/** What a user reads when a sandbox is at its limits, over the wire. */
final class LimitsTest extends ServerTestBase {
  /** E10. */
  @Test
  void aRunOutOfMemorySaysSo() {
    AgentClient agent = server.createSandbox("code-interpreter");
    AgentClient neighbour = server.createSandbox("code-interpreter");
    Reply reply = agent.post("/execute", Map.of("code", "x = b'x' * (8 << 30)", "timeout", 120));
    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.json().get("exit_code").asInt()).isEqualTo(137);
    assertThat(reply.json().get("oom_killed").asBoolean()).isTrue();
    assertThat(reply.json().get("success").asBoolean()).isFalse();
    assertThat(reply.text("stderr"))
        .contains("Out of memory: a process was killed at the sandbox's limit of 4096 MiB");
    Reply child =
        agent.post(
            "/commands/run",
            Map.of("command", "python3 -c 'b\"x\" * (8 << 30)'; echo next", "timeout", 120));
    assertThat(child.text("stdout")).isEqualTo("next\n");
    assertThat(child.json().get("oom_killed").asBoolean()).isTrue();
    Reply numpy =
        agent.post("/execute", Map.of("code", "import numpy; print(numpy.ones(3).sum())"));
    assertThat(numpy.text("stdout")).isEqualTo("3.0\n");
    assertThat(numpy.json().get("oom_killed").asBoolean()).isFalse();
    assertThat(neighbour.shell("echo alive").text("stdout")).isEqualTo("alive\n");
    assertThat(agent.get("/health").status()).isEqualTo(200);
    server.delete("/v1/sandboxes/" + agent.id());
    server.delete("/v1/sandboxes/" + neighbour.id());
  }

  /** D20. */
  @Test
  void aFullDiskIsATypedErrorAndTheAgentLives() {
    AgentClient agent = server.createSandbox("base");
    assertThat(agent.shell("df -m --output=size / | tail -1").text("stdout").strip())
        .satisfies(size -> assertThat(Long.parseLong(size)).isBetween(4_000L, 10_240L));
    Reply filled =
        agent.shell(
            "fallocate -l $(($(df -B1 --output=avail / | tail -1) - 65536)) /workspace/big;"
                + " head -c 1M /dev/zero >> /workspace/big");
    assertThat(filled.text("stderr")).contains("No space left on device");
    Reply reply = agent.write("/workspace/file.txt", "x".repeat(1 << 20));
    assertThat(reply.status()).as(reply.body()).isEqualTo(507);
    assertThat(reply.text("code")).isEqualTo("DISK_FULL");
    assertThat(reply.text("path")).isEqualTo("/workspace/file.txt");
    assertThat(agent.get("/health").status()).isEqualTo(200);
    assertThat(agent.shell("echo alive").text("stdout")).isEqualTo("alive\n");
    assertThat(agent.shell("rm /workspace/big").json().get("exit_code").asInt()).isZero();
    assertThat(agent.write("/workspace/file.txt", "x".repeat(1 << 20)).status()).isEqualTo(200);
    assertThat(server.delete("/v1/sandboxes/" + agent.id()).status()).isBetween(200, 204);
  }
}
