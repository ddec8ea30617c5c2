package dev.hopx.compat;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What interpreters keep over pause, stop, a killed server and deletion. */
final class InterpreterLifecycleTest extends ServerTestBase {
  private static final List<String> LANGUAGES = List.of("python", "javascript");

  /** Case E7. */
  @Test
  void stateAndARunsTimeOutSurviveAPause() throws Exception {
    AgentClient agent = server.createSandbox("code-interpreter");
    for (String language : LANGUAGES) {
      run(agent, language, "kept = 7");
    }
    move(agent, "pause");
    move(agent, "resume");
    for (String language : LANGUAGES) {
      Reply reply = run(agent, language, "kept + 1");
      assertThat(reply.text("result")).isEqualTo("8");
      assertThat(reply.json().has("state_lost")).isFalse();
    }
    CompletableFuture<Reply> ends =
        CompletableFuture.supplyAsync(
            () ->
                run(
                    agent,
                    "python",
                    5,
                    "n = 0\nfor _ in range(30):\n  sum(range(1_000_000)); n += 1\nprint(n)"));
    CompletableFuture<Reply> isCut =
        CompletableFuture.supplyAsync(() -> run(agent, "javascript", 3, "while (true);"));
    Thread.sleep(500);
    move(agent, "pause");
    Thread.sleep(6000);
    assertThat(isCut).as("its time stands still").isNotDone();
    move(agent, "resume");
    assertThat(ends.get(30, TimeUnit.SECONDS).text("stdout")).isEqualTo("30\n");
    Reply cut = isCut.get(30, TimeUnit.SECONDS);
    assertThat(cut.json().get("timed_out").asBoolean()).isTrue();
    assertThat(cut.json().has("state_lost")).isFalse();
    assertThat(run(agent, "javascript", "kept").text("result")).isEqualTo("7");
    server.delete("/v1/sandboxes/" + agent.id());
  }

  @Test
  void aStopLosesTheStateAndTheNextRunSaysSoOnce() throws Exception {
    AgentClient agent = server.createSandbox("code-interpreter");
    run(agent, "python", "kept = 7");
    move(agent, "stop");
    move(agent, "start");
    Reply next = run(agent, "python", "print('kept' in globals())");
    assertThat(next.text("stdout")).isEqualTo("False\n");
    assertThat(next.json().get("success").asBoolean()).isTrue();
    assertThat(next.json().get("state_lost").asBoolean()).isTrue();
    assertThat(run(agent, "python", "1").json().has("state_lost")).isFalse();
    assertThat(run(agent, "javascript", "1").json().has("state_lost"))
        .as("it had none to lose")
        .isFalse();

    CompletableFuture<Reply> running =
        CompletableFuture.supplyAsync(() -> run(agent, "python", "import time; time.sleep(600)"));
    Thread.sleep(1000);
    move(agent, "stop");
    Reply ended = running.get(30, TimeUnit.SECONDS);
    assertThat(ended.status()).as(ended.body()).isEqualTo(200);
    assertThat(ended.json().get("success").asBoolean()).isFalse();
    move(agent, "start");
    assertThat(run(agent, "python", "6 * 7").text("result")).isEqualTo("42");
    server.delete("/v1/sandboxes/" + agent.id());
  }

  @Test
  void deletionEndsARun() throws Exception {
    AgentClient agent = server.createSandbox("code-interpreter");
    CompletableFuture<Reply> running =
        CompletableFuture.supplyAsync(() -> run(agent, "python", "import time; time.sleep(600)"));
    Thread.sleep(1500);
    long begin = System.nanoTime();
    assertThat(server.delete("/v1/sandboxes/" + agent.id()).status()).isEqualTo(200);
    assertThat(running.handle((reply, failure) -> reply == null || reply.status() >= 400).get())
        .isTrue();
    assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(10));
  }

  @Test
  void whatWasLeftRunningOnPurposeOutlivesAKilledServer() throws Exception {
    AgentClient agent = server.createSandbox("code-interpreter");
    run(
        agent,
        "python",
        """
        import subprocess
        kept = 1
        talk = 'while :; do echo talks; echo talks >&2; sleep 0.2; done; : 8101'
        subprocess.Popen(['sh', '-c', talk], start_new_session=True)
        subprocess.Popen(['setsid', 'sleep', '8102'])
        subprocess.Popen(['sleep', '8103'])
        """);
    run(
        agent,
        "javascript",
        "require('child_process').spawn('sleep', ['8104'], {detached: true, stdio: 'inherit'}).unref()");
    Thread.sleep(500);
    // Twice: the second server finds what the first one has released.
    for (int round = 0; round < 2; round++) {
      server.killHard();
      server.launch();
      Thread.sleep(1500);
      String running = agent.shell("ps -eo args").text("stdout");
      assertThat(running).contains(": 8101", "sleep 8102", "sleep 8104");
      assertThat(running)
          .as("in the interpreter's own group")
          .doesNotContain("sleep 8103", "hopx_kernel");
    }
    Reply next = run(agent, "python", "print('kept' in globals())");
    assertThat(next.text("stdout")).isEqualTo("False\n");
    assertThat(next.json().get("state_lost").asBoolean()).isTrue();
    server.delete("/v1/sandboxes/" + agent.id());
  }

  private static Reply run(AgentClient agent, String language, String code) {
    return run(agent, language, 60, code);
  }

  private static Reply run(AgentClient agent, String language, int timeout, String code) {
    return agent.post("/execute", Map.of("language", language, "code", code, "timeout", timeout));
  }

  private void move(AgentClient agent, String move) {
    Reply reply = server.post("/v1/sandboxes/" + agent.id() + "/" + move, "");
    assertThat(reply.status()).as(move + ": " + reply.body()).isEqualTo(200);
  }
}
