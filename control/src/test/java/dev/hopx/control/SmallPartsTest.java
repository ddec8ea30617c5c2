package dev.hopx.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hopx.node.SandboxId;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

final class SmallPartsTest {
  @Test
  void idsAreUniqueWellFormedAndLookLikeTheServices() {
    SandboxIds ids = new SandboxIds(() -> Instant.ofEpochMilli(1_763_382_095_000L));
    Set<String> made = new HashSet<>();
    for (int i = 0; i < 10_000; i++) {
      SandboxId id = ids.next();
      assertThat(id.value()).matches("[0-9]{13}[a-z0-9]{5}");
      made.add(id.value());
    }
    assertThat(made).hasSize(10_000);
  }

  @Test
  void portsGoRoundAndAreNotGivenTwice() {
    AgentPorts ports = new AgentPorts(100, 102);
    assertThat(ports.take()).hasValue(100);
    assertThat(ports.take()).hasValue(101);
    ports.release(100);
    assertThat(ports.take()).as("not the one just released").hasValue(102);
    assertThat(ports.take()).hasValue(100);
    assertThat(ports.take()).isEqualTo(OptionalInt.empty());
    ports.release(101);
    assertThat(ports.take()).hasValue(101);
  }

  @Test
  void portsInUseAfterARestartAreSkippedWhereverTheyLie() {
    AgentPorts ports = new AgentPorts(100, 102);
    ports.take(101);
    ports.take(5);
    assertThat(ports.take()).hasValue(102);
    assertThat(ports.take()).hasValue(100);
    assertThat(ports.take()).isEmpty();
  }

  @Test
  void portRangeIsChecked() {
    assertThat(new ControlSettings("1", "local", 1, 65535).lastAgentPort()).isEqualTo(65535);
    assertThatThrownBy(() -> new ControlSettings("1", "local", 0, 5))
        .hasMessageContaining("agent ports");
    assertThatThrownBy(() -> new ControlSettings("1", "local", 5, 65536))
        .hasMessageContaining("agent ports");
    assertThatThrownBy(() -> new ControlSettings("1", "local", 6, 5))
        .hasMessageContaining("agent ports");
    assertThatThrownBy(() -> new ControlSettings("1", "No Region", 1, 5))
        .hasMessageContaining("region");
  }

  @Test
  void cursorsComeBackAndRubbishDoesNot() {
    SandboxCursor cursor = new SandboxCursor(1_763_382_095_000L, "1763382095000abcde");
    assertThat(SandboxCursor.decode(cursor.encode())).hasValue(cursor);
    for (String rubbish :
        new String[] {"", "x", "!", "MTIz", cursor.encode() + "AAAA", "LTE6MTIzNDU2Nzg"}) {
      assertThat(SandboxCursor.decode(rubbish)).as(rubbish).isEmpty();
    }
  }

  @Test
  void timestampsHaveMilliseconds() {
    assertThat(Timestamps.format(Instant.parse("2026-01-02T03:04:05Z")))
        .isEqualTo("2026-01-02T03:04:05.000Z");
    assertThat(Timestamps.format(Instant.parse("2026-01-02T03:04:05.678999Z")))
        .isEqualTo("2026-01-02T03:04:05.678Z");
  }

  @Test
  void aKeyIsHeldByOneAndForgottenAfterwards() throws Exception {
    KeyedLocks locks = new KeyedLocks();
    CountDownLatch waiting = new CountDownLatch(1);
    AtomicBoolean got = new AtomicBoolean();
    Thread second;
    try (KeyedLocks.Held _ = locks.acquire("a")) {
      second =
          Thread.ofVirtual()
              .start(
                  () -> {
                    waiting.countDown();
                    try (KeyedLocks.Held _ = locks.acquire("a")) {
                      got.set(true);
                    }
                  });
      assertThat(waiting.await(5, TimeUnit.SECONDS)).isTrue();
      AtomicBoolean timedOut = new AtomicBoolean();
      Thread third =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      Optional<KeyedLocks.Held> held = locks.tryAcquire("a", Duration.ofMillis(20));
                      timedOut.set(held.isEmpty());
                    } catch (InterruptedException e) {
                      Thread.currentThread().interrupt();
                    }
                  });
      third.join();
      assertThat(timedOut).isTrue();
      assertThat(got).isFalse();
    }
    second.join();
    assertThat(got).isTrue();
    assertThat(locks.size()).isZero();
  }
}
