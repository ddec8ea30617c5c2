package dev.hopx.compat;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Rows A* and C16 of the field cases, in a real sandbox. */
final class ProcessLifetimeTest extends ServerTestBase {
  private AgentClient agent;

  @BeforeAll
  void createSandbox() {
    agent = server.createSandbox("base");
  }

  @Test
  void a1ForegroundDoesNotWaitForBackgroundJobs() {
    Instant start = Instant.now();
    Reply reply = agent.shell("sleep 61 & echo hi");
    assertThat(Duration.between(start, Instant.now())).isLessThan(Duration.ofSeconds(5));
    assertThat(reply.text("stdout")).isEqualTo("hi\n");
    assertThat(count("sleep 61")).as("the job lives on").isEqualTo(1);
  }

  @Test
  void a4TimeOutKillsTheWholeTree() {
    Reply reply =
        agent.post(
            "/commands/run",
            Map.of(
                "command",
                "printf partial; (setsid sleep 1004 &) ; sleep 1004 & sleep 1004",
                "timeout",
                1));
    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.json().get("exit_code").asInt()).isEqualTo(124);
    assertThat(reply.json().get("timed_out").asBoolean()).isTrue();
    assertThat(reply.text("stdout")).as("A16").isEqualTo("partial");
    assertThat(count("sleep 1004")).isZero();
  }

  @Test
  void a10ForkBombEndsAndTheNextCommandWorks() {
    Reply bomb =
        agent.post(
            "/commands/run",
            Map.of("command", "bomb() { bomb | bomb & }; bomb; sleep 100", "timeout", 4));
    assertThat(bomb.status()).isEqualTo(200);
    Instant start = Instant.now();
    assertThat(agent.get("/health").text("status")).isEqualTo("healthy");
    assertThat(Duration.between(start, Instant.now())).isLessThan(Duration.ofSeconds(5));
    assertThat(agent.shell("echo ok").text("stdout")).isEqualTo("ok\n");
  }

  @Test
  void a10CommandBesideAForkBombIsAnswered() throws Exception {
    AgentClient bombed = server.createSandbox("base");
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Reply> bomb =
          threads.submit(
              () ->
                  bombed.post(
                      "/commands/run",
                      Map.of(
                          "command", "bomb() { bomb | bomb & }; bomb; sleep 100", "timeout", 8)));
      TimeUnit.SECONDS.sleep(2);
      Instant start = Instant.now();
      assertThat(bombed.get("/health").text("status")).isEqualTo("healthy");
      assertThat(Duration.between(start, Instant.now())).isLessThan(Duration.ofSeconds(5));
      assertThat(bombed.write("/workspace/beside.txt", "x").status()).isEqualTo(200);
      assertThat(bomb.get().status()).isEqualTo(200);
      assertThat(bombed.shell("echo ok").text("stdout")).isEqualTo("ok\n");
    } finally {
      server.delete("/v1/sandboxes/" + bombed.id());
    }
  }

  @Test
  void a8NoZombiesStay() {
    agent.shell("for i in $(seq 500); do (sleep 0 &) ; done; sleep 1");
    assertThat(agent.shell("ps -eo stat | grep -c ^Z").text("stdout")).isEqualTo("0\n");
  }

  @Test
  void a22DroppedConnectionKillsForegroundWork() throws Exception {
    URI address = URI.create(agent.url());
    try (Socket socket = new Socket(address.getHost(), address.getPort())) {
      String body = "{\"command\":\"sleep 1022 & sleep 1022\"}";
      socket
          .getOutputStream()
          .write(
              ("POST /commands/run HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                      + agent.token()
                      + "\r\nContent-Type: application/json\r\nContent-Length: "
                      + body.length()
                      + "\r\n\r\n"
                      + body)
                  .getBytes(StandardCharsets.US_ASCII));
      Instant deadline = Instant.now().plusSeconds(10);
      while (count("sleep 1022") < 2 && Instant.now().isBefore(deadline)) {
        TimeUnit.MILLISECONDS.sleep(50);
      }
      assertThat(count("sleep 1022")).isEqualTo(2);
    }
    TimeUnit.SECONDS.sleep(2);
    assertThat(count("sleep 1022")).isZero();
  }

  @Test
  void a11OneThousandFiveHundredProcessesStart() {
    Reply reply =
        agent.shell("for i in $(seq 1500); do sleep 20 & done; jobs -r | wc -l; kill $(jobs -p)");
    assertThat(reply.text("stdout")).isEqualTo("1500\n");
  }

  @Test
  void c16ParallelCommandsDoNotMixTheirOutput() throws Exception {
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<Reply>> replies = new ArrayList<>();
      for (int index = 0; index < 20; index++) {
        String line = "for i in $(seq 50); do echo line-" + index + "; done";
        replies.add(threads.submit(() -> agent.shell(line)));
      }
      for (int index = 0; index < 20; index++) {
        assertThat(replies.get(index).get().text("stdout"))
            .isEqualTo(("line-" + index + "\n").repeat(50));
      }
    }
  }

  @Test
  void h2DeleteDuringARunEndsTheRun() throws Exception {
    AgentClient doomed = server.createSandbox("base");
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Reply> run = threads.submit(() -> doomed.shell("sleep 50"));
      TimeUnit.MILLISECONDS.sleep(700);
      assertThat(server.delete("/v1/sandboxes/" + doomed.id()).status()).isEqualTo(200);
      try {
        Reply reply = run.get(5, TimeUnit.SECONDS);
        assertThat(reply.status()).isIn(404, 410);
        assertThat(reply.text("code")).isIn("SANDBOX_NOT_FOUND", "SANDBOX_EXPIRED");
      } catch (java.util.concurrent.ExecutionException e) {
        // The port of a deleted sandbox is closed at once; a cut connection is the other fair end.
        assertThat(e).hasRootCauseInstanceOf(java.io.IOException.class);
      }
    }
  }

  private long count(String commandLine) {
    Reply reply =
        agent.post(
            "/commands/run", Map.of("command", "pgrep", "args", List.of("-fxc", commandLine)));
    return Long.parseLong(reply.text("stdout").strip());
  }
}
