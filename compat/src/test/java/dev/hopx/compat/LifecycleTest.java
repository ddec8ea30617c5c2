package dev.hopx.compat;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Pause, resume, stop and start of real sandboxes. */
final class LifecycleTest extends ServerTestBase {
  private static final Duration LIMIT = Duration.ofMinutes(4);

  @ParameterizedTest
  @ValueSource(strings = {"requirements-oldest.txt", "requirements-newest.txt"})
  void pythonSdk(String requirements) {
    Path python = ClientEnvironments.python(requirements);
    Path program = Repository.clients("python").resolve("lifecycle.py");
    Run run =
        Run.of(
            server.directory(),
            server.clientEnvironment(),
            LIMIT,
            List.of(python.toString(), program.toString()));
    assertThat(run.exitCode())
        .as("%s\n--- server log ---\n%s", run.output(), server.logText())
        .isZero();
    assertThat(run.output()).contains("ok twenty files", "all held").doesNotContain("FAILED");
  }

  @Test
  void everyCallOfAPausedOrStoppedSandboxIsAConflict() {
    AgentClient agent = server.createSandbox("base");
    for (String[] halt :
        new String[][] {
          {"pause", "resume", "SANDBOX_PAUSED"}, {"stop", "start", "SANDBOX_STOPPED"}
        }) {
      move(agent, halt[0]);
      long begin = System.nanoTime();
      for (Reply reply :
          List.of(
              agent.get("/health"),
              agent.shell("true"),
              agent.read("/workspace/x"),
              agent.get("/env"),
              agent.get("/system"))) {
        assertThat(reply.status()).as(reply.body()).isEqualTo(409);
        assertThat(reply.text("code")).isEqualTo(halt[2]);
      }
      assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(3));
      move(agent, halt[1]);
      assertThat(agent.get("/health").text("status")).isEqualTo("healthy");
      assertThat(agent.shell("echo on").text("stdout")).isEqualTo("on\n");
    }
    server.delete("/v1/sandboxes/" + agent.id());
  }

  @Test
  void theTimeOutOfARunStandsStillWhilePaused() throws Exception {
    AgentClient agent = server.createSandbox("base");
    CompletableFuture<Reply> ends =
        CompletableFuture.supplyAsync(
            () ->
                agent.post(
                    "/commands/run",
                    Map.of(
                        "command",
                        "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 0.5; echo done",
                        "timeout",
                        6)));
    CompletableFuture<Reply> isEnded =
        CompletableFuture.supplyAsync(
            () -> agent.post("/commands/run", Map.of("command", "sleep 600", "timeout", 3)));
    Thread.sleep(300);
    long begin = System.nanoTime();
    move(agent, "pause");
    Thread.sleep(8000);
    assertThat(isEnded).as("its time stands still").isNotDone();
    move(agent, "resume");
    Reply ended = isEnded.get();
    assertThat(Duration.ofNanos(System.nanoTime() - begin)).isGreaterThan(Duration.ofSeconds(10));
    assertThat(ended.json().get("exit_code").asInt()).isEqualTo(124);
    assertThat(ends.get().text("stdout")).isEqualTo("done\n");
    server.delete("/v1/sandboxes/" + agent.id());
  }

  @Test
  void whatRunsWhenItIsStoppedIsToldAndItsCallerAnswered() throws Exception {
    AgentClient agent = server.createSandbox("base");
    CompletableFuture<Reply> run =
        CompletableFuture.supplyAsync(() -> agent.shell("exec sleep 600"));
    Thread.sleep(500);
    move(agent, "stop");
    Reply reply = run.get();
    assertThat(reply.status()).as(reply.body()).isEqualTo(200);
    assertThat(reply.json().get("exit_code").asInt()).isEqualTo(128 + 15);
    server.delete("/v1/sandboxes/" + agent.id());
  }

  /** Case F5, with the whole server. */
  @Test
  void aServerKilledInTheMiddleOfMovesComesBackAndGoesOn() throws Exception {
    AgentClient pausing = server.createSandbox("base");
    AgentClient stopping = server.createSandbox("base");
    for (AgentClient agent : List.of(pausing, stopping)) {
      assertThat(agent.write("/workspace/kept", agent.id()).status()).isEqualTo(200);
    }
    pausing.shell("(sleep 900 >/dev/null 2>&1 &); true");
    for (int round = 0; round < 3; round++) {
      AtomicBoolean over = new AtomicBoolean();
      CompletableFuture<Void> moves =
          CompletableFuture.allOf(
              moving(over, pausing, "pause", "resume"), moving(over, stopping, "stop", "start"));
      Thread.sleep(700 + 137L * round);
      server.killHard();
      over.set(true);
      moves.join();
      server.launch();
      for (AgentClient agent : List.of(pausing, stopping)) {
        String status = status(agent);
        assertThat(status).isIn("running", "paused", "stopped");
        assertThat(agent.get("/health").status()).isEqualTo(status.equals("running") ? 200 : 409);
        move(agent, status.equals("stopped") ? "start" : "resume");
        assertThat(agent.read("/workspace/kept").text("content")).isEqualTo(agent.id());
      }
      assertThat(pausing.shell("pgrep -x sleep | wc -l").text("stdout")).isEqualTo("1\n");
    }
    move(pausing, "pause");
    move(stopping, "stop");
    server.killHard();
    server.launch();
    assertThat(status(pausing)).isEqualTo("paused");
    assertThat(status(stopping)).isEqualTo("stopped");
    for (AgentClient agent : List.of(pausing, stopping)) {
      assertThat(server.delete("/v1/sandboxes/" + agent.id()).status()).isEqualTo(200);
    }
  }

  private CompletableFuture<Void> moving(AtomicBoolean over, AgentClient agent, String... moves) {
    return CompletableFuture.runAsync(
        () -> {
          while (!over.get()) {
            for (String move : moves) {
              try {
                server.post("/v1/sandboxes/" + agent.id() + "/" + move, "");
              } catch (java.io.UncheckedIOException _) {
                // The server was killed.
                return;
              }
            }
          }
        });
  }

  private String status(AgentClient agent) {
    return server.get("/v1/sandboxes/" + agent.id()).text("status");
  }

  private void move(AgentClient agent, String move) {
    Reply reply = server.post("/v1/sandboxes/" + agent.id() + "/" + move, "");
    assertThat(reply.status()).as(move + ": " + reply.body()).isEqualTo(200);
    JsonNode seen = server.get("/v1/sandboxes/" + agent.id()).json();
    assertThat(seen.get("status")).isEqualTo(reply.json().get("status"));
  }
}
