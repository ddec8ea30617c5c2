package dev.hopx.compat;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** A server that was killed comes back with every sandbox it had. */
final class RestartTest {
  private static final int SANDBOXES = 5;

  @Test
  void killedServerComesBackWithItsSandboxesAndTheirFiles() {
    try (RunningServer server = RunningServer.start("restart")) {
      List<AgentClient> before = new ArrayList<>();
      for (int index = 0; index < SANDBOXES; index++) {
        AgentClient agent = server.createSandbox("base");
        assertThat(agent.write("/workspace/kept.txt", "file " + index).status()).isEqualTo(200);
        before.add(agent);
      }
      String ofFirst = before.getFirst().shell("(sleep 300 >/dev/null 2>&1 &) ; echo left").body();
      assertThat(ofFirst).contains("left");

      server.killHard();
      server.launch();

      List<String> listed = new ArrayList<>();
      for (JsonNode sandbox : server.get("/v1/sandboxes").json().get("data")) {
        listed.add(sandbox.get("id").asString());
        assertThat(sandbox.get("status").asString()).isEqualTo("running");
      }
      assertThat(listed)
          .containsExactlyInAnyOrderElementsOf(before.stream().map(AgentClient::id).toList());
      for (int index = 0; index < SANDBOXES; index++) {
        // Same address and same token as before the crash.
        AgentClient agent = before.get(index);
        assertThat(agent.read("/workspace/kept.txt").text("content")).isEqualTo("file " + index);
        assertThat(agent.shell("echo alive").text("stdout")).isEqualTo("alive\n");
      }
      assertThat(before.getFirst().shell("pgrep sleep | wc -l").text("stdout"))
          .as("what the user left running goes on")
          .isEqualTo("1\n");
      for (AgentClient agent : before) {
        assertThat(server.delete("/v1/sandboxes/" + agent.id()).status()).isEqualTo(200);
      }
      assertThat(server.get("/v1/sandboxes").json().get("data")).isEmpty();
    }
  }
}
