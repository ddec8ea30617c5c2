package dev.hopx.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hopx.channel.FileRoots;
import dev.hopx.channel.Guest;
import dev.hopx.channel.GuestConnection;
import dev.hopx.channel.GuestException;
import dev.hopx.channel.GuestFiles;
import dev.hopx.channel.GuestProcess;
import dev.hopx.channel.GuestUser;
import dev.hopx.channel.Spawn;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Who gets in, and what is said when the guest does not answer. Needs no machine. */
class GateTest {
  private TestAgent agent = start();

  private static TestAgent start() {
    try {
      return TestAgent.start(new UnreachableGuest());
    } catch (java.io.IOException failure) {
      throw new java.io.UncheckedIOException(failure);
    }
  }

  @BeforeEach
  void revive() {
    agent.alive.set(true);
  }

  @AfterEach
  void stop() throws Exception {
    agent.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"/", "/health", "/info", "/ping"})
  void statusNeedsNoToken(String path) throws Exception {
    Reply reply = agent.send(agent.bare(path));

    assertThat(reply.status()).as(reply.body()).isEqualTo(200);
    assertThat(reply.json().isObject()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/files/read?path=x",
        "/files/list",
        "/files/exists?path=x",
        "/files/download?path=x",
        "/env",
        "/desktop/vnc/status"
      })
  void everythingElseNeedsTheToken(String path) throws Exception {
    Reply without = agent.send(agent.bare(path));
    assertThat(without.status()).isEqualTo(401);
    assertThat(without.text("code")).isEqualTo("AUTHENTICATION_REQUIRED");
    assertThat(without.headers().firstValue("WWW-Authenticate")).hasValue("Bearer");
    Reply wrong = agent.send(agent.bare(path).header("Authorization", "Bearer wrong"));
    assertThat(wrong.status()).isEqualTo(401);
    assertThat(wrong.text("code")).isEqualTo("INVALID_TOKEN");
    assertThat(agent.send(agent.bare(path).header("Authorization", TestAgent.TOKEN)).status())
        .isEqualTo(401);
    assertThat(agent.send(agent.bare(path).header("X-API-Key", TestAgent.TOKEN)).status())
        .isNotEqualTo(401);
  }

  @Test
  void onlyADownloadTakesTheTokenFromTheQuery() throws Exception {
    assertThat(agent.send(agent.bare("/files/download?path=x&token=" + TestAgent.TOKEN)).status())
        .isEqualTo(503);
    assertThat(agent.send(agent.bare("/files/download?path=x&token=no")).status()).isEqualTo(401);
    assertThat(agent.send(agent.bare("/files/read?path=x&token=" + TestAgent.TOKEN)).status())
        .isEqualTo(401);
  }

  @Test
  void aGuestThatDoesNotAnswerIsUnavailable() throws Exception {
    for (Reply reply :
        List.of(agent.get("/files/read?path=x"), agent.shell("true"), agent.run("go", "x"))) {
      assertThat(reply.status()).isEqualTo(503);
      assertThat(reply.text("code")).isEqualTo("SERVICE_UNAVAILABLE");
      assertThat(reply.text("message")).doesNotContainIgnoringCase("sandbox");
    }
  }

  @Test
  void aSandboxThatIsGoneIs404Everywhere() throws Exception {
    agent.alive.set(false);

    for (String path : List.of("/health", "/files/read?path=x", "/env", "/")) {
      Reply reply = agent.send(agent.bare(path));
      assertThat(reply.status()).isEqualTo(404);
      assertThat(reply.text("code")).isEqualTo("SANDBOX_NOT_FOUND");
      assertThat(reply.text("message")).isEqualTo("Sandbox not found");
      assertThat(reply.text("request_id")).startsWith("req_");
      assertThat(reply.json().get("details").isObject()).isTrue();
    }
  }

  @Test
  void aPausedSandboxAnswersConflictEverywhere() throws Exception {
    agent.pause.pause();
    assertConflict("SANDBOX_PAUSED", "paused");
    agent.pause.resume();
    assertThat(agent.get("/health").status()).isEqualTo(200);
  }

  @Test
  void aStoppedSandboxAnswersConflictEverywhere() throws Exception {
    agent.pause.stop(true);
    assertConflict("SANDBOX_STOPPED", "stopped");
    agent.pause.stop(false);
    assertThat(agent.get("/health").status()).isEqualTo(200);
  }

  private void assertConflict(String code, String status) throws Exception {
    for (Reply reply :
        List.of(
            agent.send(agent.bare("/health")),
            agent.get("/"),
            agent.get("/files/read?path=x"),
            agent.shell("true"),
            agent.run("python", "1"),
            agent.get("/env"))) {
      assertThat(reply.status()).isEqualTo(409);
      assertThat(reply.text("code")).isEqualTo(code);
      assertThat(reply.text("message")).contains("is " + status);
      assertThat(reply.json().get("details").get("status").stringValue()).isEqualTo(status);
    }
  }

  @Test
  void thereIsNoDesktop() throws Exception {
    for (Reply reply :
        List.of(
            agent.get("/desktop/vnc/status"),
            agent.get("/desktop/screenshot"),
            agent.get("/desktop/recording/abc/download"),
            agent.post("/desktop/mouse/click", Map.of("x", 1)))) {
      assertThat(reply.status()).isEqualTo(404);
      assertThat(reply.text("code")).isEqualTo("DESKTOP_NOT_AVAILABLE");
      assertThat(reply.json().get("missing_dependencies").isArray()).isTrue();
      assertThat(reply.json().get("details").get("missing_dependencies").isArray()).isTrue();
    }
  }

  @Test
  void whatIsNotServedIsAProper404() throws Exception {
    Reply reply = agent.post("/execute/background", Map.of("code", "1"));

    assertThat(reply.status()).isEqualTo(404);
    assertThat(reply.text("code")).isEqualTo("RESOURCE_NOT_FOUND");
    assertThat(reply.text("error")).isEqualTo(reply.text("message"));
    assertThat(agent.get("/execute").status()).isEqualTo(405);
  }

  @Test
  void statusHasWhatTheClientsRead() throws Exception {
    Reply health = agent.get("/health");
    assertThat(health.text("status")).isEqualTo("healthy");
    assertThat(health.text("version")).isEqualTo("3.2.8");
    assertThat(health.json().get("uptime_seconds").isNumber()).isTrue();
    assertThat(health.json().get("features").get("languages").isArray()).isTrue();
    Reply info = agent.get("/info");
    for (String field :
        List.of(
            "agent",
            "agent_version",
            "version",
            "vm_id",
            "os",
            "arch",
            "platform",
            "go_version",
            "ip",
            "port",
            "start_time",
            "uptime")) {
      assertThat(info.json().get(field).isString()).as(field).isTrue();
    }
    assertThat(info.json().get("features").isObject()).isTrue();
    assertThat(info.json().get("endpoints").get("execute").stringValue()).isEqualTo("/execute");
    assertThat(info.text("port")).isEqualTo(String.valueOf(agent.address().getPort()));
  }

  /** A guest whose connection is lost. */
  private static final class UnreachableGuest implements Guest {
    @Override
    public GuestProcess start(Spawn spawn) {
      throw lost();
    }

    @Override
    public GuestFiles files(FileRoots roots, GuestUser user) {
      throw lost();
    }

    @Override
    public GuestConnection dial(String host, int port) {
      throw lost();
    }

    private static GuestException lost() {
      return new GuestException(GuestException.Kind.LOST, 0, "The guest is lost");
    }
  }
}
