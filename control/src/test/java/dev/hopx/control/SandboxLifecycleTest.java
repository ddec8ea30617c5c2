package dev.hopx.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.node.NodeException;
import dev.hopx.node.SandboxState;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The moves between running, paused and stopped, and the clock that stands still in two of them.
 */
@NullUnmarked // fields are set by the life cycle of JUnit
final class SandboxLifecycleTest {
  @TempDir Path directory;
  private ControlFixture control;

  @BeforeEach
  void start() {
    control = new ControlFixture(directory);
  }

  @AfterEach
  void stop() {
    control.close();
  }

  @Test
  void eachMoveIsSeenAtOnceAndIsIdempotent() {
    SandboxRecord sandbox = control.create();
    String path = "/v1/sandboxes/" + sandbox.id();
    String[][] moves = {
      {"pause", "paused"}, {"resume", "running"}, {"stop", "stopped"}, {"start", "running"}
    };
    for (String[] move : moves) {
      for (Optional<String> body : List.of(Optional.<String>empty(), Optional.of(""))) {
        var answer =
            control.call("POST", path + "/" + move[0], body, "X-API-Key", control.adminKey);
        assertThat(answer.status()).as(move[0]).isEqualTo(200);
        assertThat(answer.keys()).containsExactlyInAnyOrder("id", "status", "request_id");
        assertThat(answer.text("id")).isEqualTo(sandbox.id().value());
        assertThat(answer.text("status")).isEqualTo(move[1]);
        var seen = control.call("GET", path);
        assertThat(seen.text("status")).isEqualTo(move[1]);
        assertThat(seen.text("public_host")).isEqualTo(sandbox.publicHost().orElseThrow());
        assertThat(control.node.state(sandbox.id()).name()).isEqualToIgnoringCase(move[1]);
        assertThat(control.call("GET", "/v1/sandboxes?status=" + move[1]).body().get("data"))
            .hasSize(1);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "stop, pause, paused",
    "start, pause, paused",
    "resume, stop, stopped",
    "pause, stop, stopped"
  })
  void whatMakesNoSenseIsAConflictThatNamesTheState(String move, String before, String state) {
    SandboxRecord sandbox = control.create();
    String path = "/v1/sandboxes/" + sandbox.id() + "/";
    assertThat(control.call("POST", path + before).status()).isEqualTo(200);
    var answer = control.call("POST", path + move);
    assertThat(answer.status()).isEqualTo(409);
    assertThat(answer.body().toString()).contains("\"CONFLICT\"", "the sandbox is " + state);
    assertThat(control.call("GET", "/v1/sandboxes/" + sandbox.id()).text("status"))
        .isEqualTo(state);
  }

  @ParameterizedTest
  @ValueSource(strings = {"pause", "resume", "stop", "start", "kill"})
  void movesNeedASandboxOfOnesOwn(String move) {
    assertThat(control.call("POST", "/v1/sandboxes/1763382095000abcde/" + move).status())
        .isEqualTo(404);
    assertThat(
            control
                .call(
                    "POST",
                    "/v1/sandboxes/1763382095000abcde/" + move,
                    Optional.empty(),
                    "X-API-Key",
                    "hopx_live_wrong")
                .status())
        .isEqualTo(401);
  }

  @ParameterizedTest
  @EnumSource(names = {"RUNNING", "PAUSED", "STOPPED", "ENDED"})
  void killAndDeleteWorkInEveryState(SandboxState state) {
    for (boolean kill : new boolean[] {true, false}) {
      SandboxRecord sandbox = control.create();
      String path = "/v1/sandboxes/" + sandbox.id();
      switch (state) {
        case RUNNING -> {}
        case PAUSED -> assertThat(control.call("POST", path + "/pause").status()).isEqualTo(200);
        case STOPPED -> assertThat(control.call("POST", path + "/stop").status()).isEqualTo(200);
        case ENDED -> {
          control.node.kill(sandbox.id());
          control.service.lifecycle().converge();
          assertThat(control.call("POST", path + "/pause").status()).isEqualTo(409);
          assertThat(control.call("POST", path + "/stop").status()).isEqualTo(409);
          assertThat(control.call("POST", path + "/start").status()).isEqualTo(409);
        }
      }
      var answer = kill ? control.call("POST", path + "/kill") : control.call("DELETE", path);
      assertThat(answer.status()).isEqualTo(200);
      assertThat(answer.text("status")).isEqualTo(kill ? "killed" : "deleted");
      assertThat(control.call("GET", path).status()).isEqualTo(404);
      assertThat(control.call("POST", path + "/resume").status()).isEqualTo(404);
      assertThat(control.call("POST", path + "/start").status()).isEqualTo(404);
      assertThat(control.node.list()).isEmpty();
      assertThat(control.endpoints.open()).isEmpty();
    }
  }

  @ParameterizedTest
  @CsvSource({"pause, resume", "stop, start"})
  void theClockStandsStillAndGoesOnWithWhatWasLeft(String halt, String goOn) {
    SandboxRecord sandbox = control.create(10);
    String path = "/v1/sandboxes/" + sandbox.id();
    control.clock.advance(Duration.ofSeconds(4));
    assertThat(control.call("POST", path + "/" + halt).status()).isEqualTo(200);

    control.clock.advance(Duration.ofDays(3));
    control.service.expire();
    var halted = control.call("GET", path);
    assertThat(halted.status()).isEqualTo(200);
    assertThat(halted.body().get("expires_at").isNull()).isTrue();
    assertThat(halted.body().get("timeout_seconds").asInt()).isEqualTo(10);
    control.restart();
    control.service.expire();

    assertThat(control.call("POST", path + "/" + goOn).status()).isEqualTo(200);
    Instant expires = Instant.parse(control.call("GET", path).text("expires_at"));
    assertThat(Duration.between(control.clock.instant(), expires))
        .isBetween(Duration.ofSeconds(3), Duration.ofSeconds(6));
    control.clock.advance(Duration.ofSeconds(7));
    assertThat(control.call("GET", path).status()).isEqualTo(410);
  }

  @Test
  void withoutATimeoutThereIsNoneAfterwards() {
    SandboxRecord sandbox = control.create();
    SandboxLifecycle lifecycle = control.service.lifecycle();
    lifecycle.pause(control.admin(), sandbox.id().value());
    assertThat(lifecycle.resume(control.admin(), sandbox.id().value()).expiresAt()).isEmpty();
  }

  @Test
  void aTimeoutSetWhilePausedBeginsWithTheResume() {
    SandboxRecord sandbox = control.create(10);
    String path = "/v1/sandboxes/" + sandbox.id();
    assertThat(control.call("POST", path + "/pause").status()).isEqualTo(200);
    var changed = control.call("PUT", path + "/timeout", "{\"timeout_seconds\":100}");
    assertThat(changed.status()).isEqualTo(200);
    assertThat(changed.body().get("timeout_seconds").asInt()).isEqualTo(100);
    assertThat(changed.body().get("expires_at").isNull()).isTrue();
    control.clock.advance(Duration.ofHours(1));
    assertThat(control.call("POST", path + "/resume").status()).isEqualTo(200);
    Instant expires = Instant.parse(control.call("GET", path).text("expires_at"));
    assertThat(Duration.between(control.clock.instant(), expires))
        .isBetween(Duration.ofSeconds(90), Duration.ofSeconds(100));

    control.call("POST", path + "/pause");
    assertThat(control.call("PUT", path + "/timeout", "{\"timeout_seconds\":0}").status())
        .isEqualTo(200);
    control.call("POST", path + "/resume");
    assertThat(control.call("GET", path).body().get("expires_at").isNull()).isTrue();
  }

  /** Case F7. */
  @Test
  void aRenewalRightBeforeTheEndHolds() {
    for (int i = 0; i < 50; i++) {
      SandboxRecord sandbox = control.create(60);
      String id = sandbox.id().value();
      control.clock.advance(Duration.ofSeconds(59));
      control.service.lifecycle().resume(control.admin(), id);
      control.service.lifecycle().pause(control.admin(), id);
      control.service.changeTimeout(control.admin(), id, OptionalLong.of(60));
      control.service.lifecycle().resume(control.admin(), id);
      control.clock.advance(Duration.ofSeconds(50));
      control.service.expire();
      assertThat(control.service.get(control.admin(), id).status())
          .isEqualTo(SandboxStatus.RUNNING);
      control.service.delete(control.admin(), id);
    }
  }

  @Test
  void aPauseThatFailsLeavesItRunningWithItsClock() {
    SandboxRecord sandbox = control.create(100);
    failMoves();
    assertUnavailable("pause", sandbox);
    SandboxRecord after = control.service.get(control.admin(), sandbox.id().value());
    assertThat(after.status()).isEqualTo(SandboxStatus.RUNNING);
    assertThat(after.expiresAt()).isPresent();
  }

  @Test
  void aStopThatFailsIsFinishedLaterAndAStartThatFailsLeavesItStopped() {
    SandboxRecord sandbox = control.create();
    failMoves();
    assertUnavailable("stop", sandbox);
    assertThat(control.service.get(control.admin(), sandbox.id().value()).status())
        .isEqualTo(SandboxStatus.STOPPED);
    control.node.duringMove(_ -> {});
    control.service.lifecycle().converge();
    assertThat(control.node.state(sandbox.id())).isEqualTo(SandboxState.STOPPED);
    failMoves();
    assertUnavailable("start", sandbox);
    assertThat(control.service.get(control.admin(), sandbox.id().value()).status())
        .isEqualTo(SandboxStatus.STOPPED);
    control.node.duringMove(_ -> {});
    assertThat(control.call("POST", "/v1/sandboxes/" + sandbox.id() + "/start").status())
        .isEqualTo(200);
  }

  /** Case F5: what a server that was killed leaves between its store and its node. */
  @ParameterizedTest
  @CsvSource({"pause, RUNNING, paused", "stop, RUNNING, stopped", "resume, PAUSED, running"})
  void aMoveCutShortIsWhatTheRowSaysAfterARestart(String move, SandboxState left, String status) {
    SandboxRecord sandbox = control.create(1000);
    String path = "/v1/sandboxes/" + sandbox.id();
    assertThat(control.call("POST", path + "/" + move).status()).isEqualTo(200);
    control.restart(() -> control.node.force(sandbox.id(), left));
    assertThat(control.call("GET", path).text("status")).isEqualTo(status);
    assertThat(control.node.state(sandbox.id()).name()).isEqualToIgnoringCase(status);
    assertThat(control.endpoints.open()).containsKey(sandbox.id().value());
    assertThat(control.call("DELETE", path).status()).isEqualTo(200);
  }

  @Test
  void whatIsFoundStoppedCanBeStarted() {
    SandboxRecord running = control.create(1000);
    SandboxRecord paused = control.create(1000);
    control.service.lifecycle().pause(control.admin(), paused.id().value());
    for (SandboxRecord sandbox : List.of(running, paused)) {
      control.node.force(sandbox.id(), SandboxState.STOPPED);
    }
    control.service.lifecycle().converge();
    for (SandboxRecord sandbox : List.of(running, paused)) {
      assertThat(control.service.get(control.admin(), sandbox.id().value()).status())
          .isEqualTo(SandboxStatus.STOPPED);
      assertThat(
              control.service.lifecycle().start(control.admin(), sandbox.id().value()).expiresAt())
          .isPresent();
    }
  }

  @Test
  void onePausedThatBreaksIsAnErrorAndExpires() {
    SandboxRecord sandbox = control.create(10);
    control.service.lifecycle().pause(control.admin(), sandbox.id().value());
    control.clock.advance(Duration.ofHours(1));
    control.node.kill(sandbox.id());
    control.service.lifecycle().converge();
    assertThat(control.service.get(control.admin(), sandbox.id().value()).status())
        .isEqualTo(SandboxStatus.ERROR);
    control.clock.advance(Duration.ofSeconds(11));
    assertThatThrownBy(() -> control.service.get(control.admin(), sandbox.id().value()))
        .isInstanceOfSatisfying(
            ApiException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.SANDBOX_EXPIRED));
  }

  @Test
  void aDeletionDoesNotWaitForAMoveAndTheMoveLearnsOfIt() throws Exception {
    SandboxRecord sandbox = control.create();
    CountDownLatch stopping = new CountDownLatch(1);
    CountDownLatch deleted = new CountDownLatch(1);
    control.node.duringMove(
        _ -> {
          stopping.countDown();
          try {
            deleted.await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        });
    CompletableFuture<Integer> stop =
        CompletableFuture.supplyAsync(
            () -> control.call("POST", "/v1/sandboxes/" + sandbox.id() + "/stop").status());
    stopping.await();
    assertThat(control.call("GET", "/v1/sandboxes/" + sandbox.id()).text("status"))
        .as("seen at once")
        .isEqualTo("stopped");
    control.service.lifecycle().converge();
    assertThat(control.call("DELETE", "/v1/sandboxes/" + sandbox.id()).status()).isEqualTo(200);
    deleted.countDown();
    assertThat(stop.get()).isEqualTo(404);
    assertThat(control.node.list()).isEmpty();
  }

  @Test
  void manyAtOnceEndInOneState() throws Exception {
    SandboxRecord sandbox = control.create(1000);
    List<Future<Integer>> answers = new ArrayList<>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < 40; i++) {
        String move = List.of("pause", "resume", "stop", "start").get(i % 4);
        answers.add(
            threads.submit(
                () -> control.call("POST", "/v1/sandboxes/" + sandbox.id() + "/" + move).status()));
      }
      for (Future<Integer> answer : answers) {
        assertThat(answer.get()).isIn(200, 409);
      }
    }
    SandboxRecord after = control.service.get(control.admin(), sandbox.id().value());
    assertThat(control.node.state(sandbox.id()).name())
        .isEqualToIgnoringCase(after.status().wireName());
    assertThat(after.expiresAt().isPresent()).isEqualTo(after.status() == SandboxStatus.RUNNING);
  }

  private void failMoves() {
    control.node.duringMove(
        _ -> {
          throw new NodeException("on purpose");
        });
  }

  private void assertUnavailable(String move, SandboxRecord sandbox) {
    var answer = control.call("POST", "/v1/sandboxes/" + sandbox.id() + "/" + move);
    assertThat(Map.of("status", answer.status())).containsEntry("status", 503);
    assertThat(answer.body().toString()).contains("SERVICE_UNAVAILABLE");
  }
}
