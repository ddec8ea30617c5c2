package dev.hopx.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.node.NodeException;
import dev.hopx.node.SandboxId;
import dev.hopx.node.SandboxSpec;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SandboxServiceTest {
  @TempDir private Path directory;
  private ControlFixture control;

  @BeforeEach
  void open() {
    control = new ControlFixture(directory);
  }

  @AfterEach
  void close() {
    control.close();
  }

  @Test
  void createdSandboxRunsIsReachableAndKeepsItsSecretsFromTheNode() {
    AtomicReference<SandboxSpec> spec = new AtomicReference<>();
    control.node.duringCreate(spec::set);
    SandboxRecord sandbox = control.create();
    assertThat(sandbox.status()).isEqualTo(SandboxStatus.RUNNING);
    assertThat(sandbox.environment()).containsExactly(Map.entry("SECRET", "value"));
    assertThat(sandbox.publicHost()).hasValue("http://127.0.0.1:" + sandbox.agentPort());
    assertThat(control.endpoints.open())
        .containsExactly(Map.entry(sandbox.id().value(), sandbox.agentPort()));
    assertThat(spec.get().labels().values()).doesNotContain("value");
    assertThat(sandbox.toString()).doesNotContain("value");
    assertThat(control.service.find(sandbox.id())).hasValue(sandbox);
  }

  @Test
  void aSandboxBeingMadeIsNotThere() {
    AtomicReference<Optional<SandboxRecord>> found = new AtomicReference<>(Optional.empty());
    AtomicReference<Integer> listed = new AtomicReference<>(-1);
    control.node.duringCreate(
        spec -> {
          found.set(control.service.find(spec.id()));
          listed.set(listed(SandboxFilter.ALL).size());
        });
    control.create();
    assertThat(found.get()).isEmpty();
    assertThat(listed.get()).isZero();
    assertThat(listed(SandboxFilter.ALL)).hasSize(1);
  }

  @Test
  void aFailedCreationLeavesNothing() {
    control.node.duringCreate(
        _ -> {
          throw new NodeException("mount: no space left on device");
        });
    assertThatThrownBy(control::create)
        .isInstanceOfSatisfying(
            ApiException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.SERVICE_UNAVAILABLE));
    assertNothingLeft();
    control.node.duringCreate(_ -> {});
    assertThat(control.create().status()).isEqualTo(SandboxStatus.RUNNING);
  }

  @Test
  void anAbandonedCreationLeavesNothing() {
    AtomicBoolean gone = new AtomicBoolean();
    control.node.duringCreate(_ -> gone.set(true));
    assertThatThrownBy(
            () ->
                control.service.create(control.admin(), control.request(), gone::get, (_, _) -> {}))
        .isInstanceOf(ApiException.class);
    assertThat(control.node.creations()).isEqualTo(1);
    assertNothingLeft();
  }

  @Test
  void aRemovalThatFailsIsTakenUpAgain() {
    SandboxRecord sandbox = control.create();
    control.node.duringDelete(
        _ -> {
          throw new NodeException("umount: busy");
        });
    control.service.delete(control.admin(), sandbox.id().value());
    assertCode(ErrorCode.RESOURCE_NOT_FOUND, () -> get(sandbox));
    assertThat(control.endpoints.open()).isEmpty();
    assertThat(control.node.list()).hasSize(1);

    control.node.duringDelete(_ -> {});
    control.service.finishDeletions();
    assertNothingLeft();
  }

  @Test
  void portsInUseByOthersAreSkipped() {
    control.endpoints.occupy(ControlFixture.FIRST_PORT);
    control.endpoints.occupy(ControlFixture.FIRST_PORT + 1);
    SandboxRecord sandbox = control.create();
    assertThat(sandbox.agentPort()).isEqualTo(ControlFixture.FIRST_PORT + 2);
    assertThat(sandbox.publicHost()).hasValue("http://127.0.0.1:" + sandbox.agentPort());
  }

  @Test
  void aHundredAtOnceGetAHundredIdsAndPorts() throws Exception {
    List<SandboxRecord> made = new ArrayList<>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<SandboxRecord>> results = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        results.add(threads.submit(() -> control.create()));
      }
      for (Future<SandboxRecord> result : results) {
        made.add(result.get());
      }
    }
    assertThat(made).extracting(SandboxRecord::id).doesNotHaveDuplicates();
    assertThat(made).extracting(SandboxRecord::agentPort).doesNotHaveDuplicates();
    assertThat(control.endpoints.open()).hasSize(100);
    assertThat(listed(SandboxFilter.ALL)).hasSize(100);
  }

  @Test
  void whenThePortsAreUsedUpOneMoreIsRefusedAndADeletionMakesRoom() {
    int size = ControlFixture.LAST_PORT - ControlFixture.FIRST_PORT + 1;
    List<SandboxRecord> made = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      made.add(control.create());
    }
    assertThatThrownBy(control::create)
        .isInstanceOfSatisfying(
            ApiException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.SERVICE_UNAVAILABLE))
        .hasMessageContaining("agent-ports");
    assertThat(control.node.creations()).isEqualTo(size);
    SandboxRecord freed = made.get(size / 2);
    control.service.delete(control.admin(), freed.id().value());
    assertThat(control.create().agentPort()).isEqualTo(freed.agentPort());
  }

  @Test
  void deletingIsIdempotentUntilTheTombstoneIsGone() {
    SandboxRecord sandbox = control.create();
    control.service.delete(control.admin(), sandbox.id().value());
    assertCode(ErrorCode.RESOURCE_NOT_FOUND, () -> get(sandbox));
    assertThat(listed(SandboxFilter.ALL)).isEmpty();
    control.service.delete(control.admin(), sandbox.id().value());
    assertNothingLeft();

    control.clock.advance(SandboxService.TOMBSTONE.minusSeconds(10));
    control.service.forget();
    control.service.delete(control.admin(), sandbox.id().value());

    control.clock.advance(Duration.ofSeconds(11));
    control.service.forget();
    assertCode(
        ErrorCode.RESOURCE_NOT_FOUND,
        () -> control.service.delete(control.admin(), sandbox.id().value()));
  }

  @Test
  void theTombstoneHoldsNothingTheUserGave() {
    SandboxRecord sandbox = control.create();
    control.service.delete(control.admin(), sandbox.id().value());
    Optional<SandboxRecord> tombstone =
        control.store.read(handle -> SandboxRows.find(handle, sandbox.id()));
    assertThat(tombstone)
        .hasValueSatisfying(
            found -> {
              assertThat(found.status()).isEqualTo(SandboxStatus.DELETED);
              assertThat(found.environment()).isEmpty();
              assertThat(found.metadata()).isEqualTo("{}");
            });
  }

  @Test
  void anothersSandboxIsUnknown() {
    SandboxRecord sandbox = control.create();
    Caller other = new Caller(2, "other");
    String id = sandbox.id().value();
    assertCode(ErrorCode.RESOURCE_NOT_FOUND, () -> control.service.get(other, id));
    assertCode(ErrorCode.RESOURCE_NOT_FOUND, () -> control.service.delete(other, id));
    assertCode(ErrorCode.RESOURCE_NOT_FOUND, () -> control.service.lifecycle().resume(other, id));
    assertCode(
        ErrorCode.RESOURCE_NOT_FOUND,
        () -> control.service.changeTimeout(other, id, OptionalLong.of(1)));
    assertThat(control.service.list(other, SandboxFilter.ALL, Optional.empty(), 10).sandboxes())
        .isEmpty();
    assertThat(get(sandbox).status()).isEqualTo(SandboxStatus.RUNNING);
  }

  @Test
  void expiresToTheSecondByItself() {
    SandboxRecord sandbox = control.create(1);
    assertThat(Duration.between(sandbox.createdAt(), sandbox.expiresAt().orElseThrow()))
        .isEqualTo(Duration.ofSeconds(1));
    await(() -> control.node.list().isEmpty());
    assertThat(Instant.now())
        .isBetween(
            sandbox.expiresAt().orElseThrow(), sandbox.expiresAt().orElseThrow().plusSeconds(1));
    assertCode(ErrorCode.SANDBOX_EXPIRED, () -> get(sandbox));
    await(() -> control.endpoints.open().isEmpty());
  }

  @Test
  void isGoneAtItsExpiryEvenBeforeTheSweep() {
    control.service.close();
    SandboxRecord sandbox = control.create(60);
    control.clock.advance(Duration.ofSeconds(61));
    assertCode(ErrorCode.SANDBOX_EXPIRED, () -> get(sandbox));
    assertThat(listed(SandboxFilter.ALL)).isEmpty();
    assertThat(control.service.find(sandbox.id())).isEmpty();
    assertCode(
        ErrorCode.SANDBOX_EXPIRED,
        () ->
            control.service.changeTimeout(
                control.admin(), sandbox.id().value(), OptionalLong.of(60)));
    control.service.delete(control.admin(), sandbox.id().value());
    assertNothingLeft();
  }

  @Test
  void aRenewalWinsAgainstTheSweep() {
    control.service.close();
    SandboxRecord sandbox = control.create(60);
    control.clock.advance(Duration.ofSeconds(59));
    SandboxRecord renewed =
        control.service.changeTimeout(control.admin(), sandbox.id().value(), OptionalLong.of(120));
    assertThat(renewed.timeoutSeconds()).hasValue(120);
    control.clock.advance(Duration.ofSeconds(100));
    control.service.expire();
    assertThat(get(sandbox)).isEqualTo(renewed);

    SandboxRecord endless =
        control.service.changeTimeout(control.admin(), sandbox.id().value(), OptionalLong.empty());
    assertThat(endless.expiresAt()).isEmpty();
    control.clock.advance(Duration.ofDays(3650));
    control.service.expire();
    assertThat(get(sandbox).status()).isEqualTo(SandboxStatus.RUNNING);
  }

  @Test
  void aNewEarlierExpiryWakesTheSweeper() {
    SandboxRecord sandbox = control.create(3600);
    control.service.changeTimeout(control.admin(), sandbox.id().value(), OptionalLong.of(1));
    Instant due = get(sandbox).expiresAt().orElseThrow();
    await(() -> control.node.list().isEmpty());
    assertThat(Instant.now()).isBetween(due, due.plusSeconds(1));
  }

  @Test
  void oneThatDiesByItselfIsAnErrorAndStillExpiresAndGoes() {
    SandboxRecord dead = control.create(3600);
    SandboxRecord other = control.create();
    control.node.kill(dead.id());
    await(() -> get(dead).status() == SandboxStatus.ERROR);
    assertThat(get(other).status()).isEqualTo(SandboxStatus.RUNNING);
    assertThatThrownBy(() -> control.service.lifecycle().resume(control.admin(), dead.id().value()))
        .isInstanceOfSatisfying(
            ApiException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CONFLICT))
        .hasMessageContaining("error");
    control.clock.advance(Duration.ofSeconds(3601));
    await(() -> control.node.find(dead.id()).isEmpty());
    assertThat(control.node.find(other.id())).isPresent();
  }

  @Test
  void oneTheNodeLostIsNotListed() {
    SandboxRecord sandbox = control.create();
    control.node.lose(sandbox.id());
    await(() -> listed(SandboxFilter.ALL).isEmpty());
    assertCode(ErrorCode.RESOURCE_NOT_FOUND, () -> get(sandbox));
  }

  @Test
  void aRestartHarmsNoSandbox() {
    List<SandboxRecord> before = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      before.add(control.create());
    }
    control.restart();
    for (SandboxRecord sandbox : before) {
      assertThat(get(sandbox)).isEqualTo(sandbox);
      assertThat(control.endpoints.open()).containsEntry(sandbox.id().value(), sandbox.agentPort());
    }
    assertThat(control.create().agentPort())
        .isNotIn(before.stream().map(SandboxRecord::agentPort).toList());
  }

  @Test
  void aPortSomebodyTookDuringTheRestartIsReplaced() {
    SandboxRecord first = control.create();
    SandboxRecord second = control.create();
    control.restart(() -> control.endpoints.occupy(first.agentPort()));
    SandboxRecord moved = get(first);
    assertThat(moved.agentPort()).isNotIn(first.agentPort(), second.agentPort());
    assertThat(moved.publicHost()).hasValue("http://127.0.0.1:" + moved.agentPort());
    assertThat(get(second)).isEqualTo(second);
  }

  @Test
  void expiryComesAlsoDuringARestart() {
    SandboxRecord expired = control.create(60);
    SandboxRecord goesOn = control.create(3600);
    control.restart(() -> control.clock.advance(Duration.ofSeconds(61)));
    await(() -> control.node.find(expired.id()).isEmpty());
    assertCode(ErrorCode.SANDBOX_EXPIRED, () -> get(expired));
    assertThat(get(goesOn)).isEqualTo(goesOn);
  }

  @Test
  void oneThatDiedOrWasLostDuringARestartIsNoticed() {
    SandboxRecord died = control.create();
    SandboxRecord lost = control.create();
    control.restart(
        () -> {
          control.node.kill(died.id());
          control.node.lose(lost.id());
        });
    assertThat(get(died).status()).isEqualTo(SandboxStatus.ERROR);
    assertCode(ErrorCode.RESOURCE_NOT_FOUND, () -> get(lost));
  }

  @Test
  void aStrayOfTheNodeIsRemoved() {
    SandboxId stray = new SandboxId("1763382095000stray");
    SandboxRecord known = control.create();
    control.restart(
        () ->
            control.node.create(
                new SandboxSpec(
                    stray, "base", Path.of("/nonexistent"), known.resources(), true, Map.of())));
    assertThat(control.node.find(stray)).isEmpty();
    assertThat(control.node.find(known.id())).isPresent();
  }

  @Test
  void aServerKilledWhileCreatingUndoesItAtTheNextStart() {
    // The database goes away under the creation, as the process would: no undoing gets through.
    control.node.duringCreate(_ -> control.store.close());
    assertThatThrownBy(control::create).isInstanceOf(RuntimeException.class);
    control.node.duringCreate(_ -> {});
    assertThat(control.node.list()).hasSize(1);
    control.restart();
    assertNothingLeft();
    assertThat(control.create().status()).isEqualTo(SandboxStatus.RUNNING);
  }

  @Test
  void aServerKilledWhileDeletingFinishesItAtTheNextStart() {
    SandboxRecord sandbox = control.create();
    control.node.duringDelete(
        _ -> {
          throw new NodeException("killed here");
        });
    control.service.delete(control.admin(), sandbox.id().value());
    control.restart(() -> control.node.duringDelete(_ -> {}));
    assertNothingLeft();
    control.service.delete(control.admin(), sandbox.id().value());
  }

  @Test
  void listsNewestFirstInStablePages() {
    List<String> made = new ArrayList<>();
    for (int i = 0; i < 7; i++) {
      made.addFirst(control.create().id().value());
    }
    List<String> seen = new ArrayList<>();
    Optional<SandboxCursor> cursor = Optional.empty();
    boolean more = true;
    while (more) {
      SandboxService.Page page =
          control.service.list(control.admin(), SandboxFilter.ALL, cursor, 2);
      page.sandboxes().forEach(sandbox -> seen.add(sandbox.id().value()));
      cursor = Optional.of(SandboxCursor.behind(page.sandboxes().getLast()));
      more = page.hasMore();
      // What comes and goes between two pages causes neither duplicates nor gaps.
      control.create();
      control.service.delete(control.admin(), page.sandboxes().getLast().id().value());
    }
    assertThat(seen).isEqualTo(made);
  }

  private void assertNothingLeft() {
    assertThat(control.node.list()).isEmpty();
    assertThat(control.endpoints.open()).isEmpty();
    assertThat(listed(SandboxFilter.ALL)).isEmpty();
    assertThat(control.store.read(SandboxRows::notDeleted)).isEmpty();
  }

  private SandboxRecord get(SandboxRecord sandbox) {
    return control.service.get(control.admin(), sandbox.id().value());
  }

  private List<SandboxRecord> listed(SandboxFilter filter) {
    return control.service.list(control.admin(), filter, Optional.empty(), 1000).sandboxes();
  }

  private static void assertCode(ErrorCode code, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(ApiException.class, e -> assertThat(e.code()).isEqualTo(code));
  }

  static void await(BooleanSupplier condition) {
    Instant deadline = Instant.now().plusSeconds(10);
    while (!condition.getAsBoolean()) {
      assertThat(Instant.now()).as("waiting").isBefore(deadline);
      try {
        Thread.sleep(5);
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
