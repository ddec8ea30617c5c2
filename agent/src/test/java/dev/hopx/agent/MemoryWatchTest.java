package dev.hopx.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hopx.channel.FileRoots;
import dev.hopx.channel.Guest;
import dev.hopx.channel.GuestConnection;
import dev.hopx.channel.GuestFiles;
import dev.hopx.channel.GuestProcess;
import dev.hopx.channel.GuestUser;
import dev.hopx.channel.Spawn;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class MemoryWatchTest {
  private final AtomicLong kills = new AtomicLong(3);
  private final MemoryWatch watch = new MemoryWatch(new CountingSandbox(kills));

  @Test
  void aRunWithoutAKillIsLeftAsItIs() {
    try (MemoryWatch.Run run = watch.begin()) {
      assertThat(run.judge(ended(137)).oomKilled()).isFalse();
    }
  }

  @Test
  void aRunAloneIsMeantWhateverItsLeaderSays() {
    for (int exitCode : new int[] {0, 1, 137}) {
      try (MemoryWatch.Run run = watch.begin()) {
        kills.incrementAndGet();
        RunOutcome outcome = run.judge(ended(exitCode));
        assertThat(outcome.oomKilled()).isTrue();
        assertThat(outcome.exitCode()).isEqualTo(exitCode);
        assertThat(outcome.stderr())
            .isEqualTo(
                "half a line\n"
                    + "Out of memory: a process was killed at the sandbox's limit of 4096 MiB\n");
        Map<String, Object> reply = new LinkedHashMap<>();
        outcome.describe(reply);
        assertThat(reply).containsEntry("oom_killed", true);
      }
    }
  }

  @Test
  void ofOverlappingRunsOnlyTheKilledOneIsMeant() {
    try (MemoryWatch.Run first = watch.begin();
        MemoryWatch.Run second = watch.begin()) {
      kills.incrementAndGet();
      assertThat(first.judge(ended(137)).oomKilled()).isTrue();
      assertThat(second.judge(ended(1)).oomKilled()).isFalse();
    }
    try (MemoryWatch.Run later = watch.begin()) {
      kills.incrementAndGet();
      assertThat(later.judge(ended(1)).oomKilled()).as("alone again").isTrue();
    }
  }

  @Test
  void aTimeOutIsATimeOut() {
    try (MemoryWatch.Run run = watch.begin()) {
      kills.incrementAndGet();
      RunOutcome outcome =
          new RunOutcome("", "", 124, true, false, Duration.ZERO, OptionalInt.of(1));
      assertThat(run.judge(outcome)).isEqualTo(outcome);
    }
  }

  private static RunOutcome ended(int exitCode) {
    return new RunOutcome(
        "", "half a line", exitCode, false, false, Duration.ZERO, OptionalInt.of(7));
  }

  private record CountingSandbox(AtomicLong kills) implements AgentSandbox {
    private AgentSandbox base() {
      return new TestSandbox(new NoGuest(), Path.of("/nonexistent"), () -> true);
    }

    @Override
    public long memoryKills() {
      return kills.get();
    }

    @Override
    public String id() {
      return base().id();
    }

    @Override
    public String templateName() {
      return base().templateName();
    }

    @Override
    public String region() {
      return base().region();
    }

    @Override
    public String isolation() {
      return base().isolation();
    }

    @Override
    public Instant createdAt() {
      return base().createdAt();
    }

    @Override
    public Resources resources() {
      return base().resources();
    }

    @Override
    public Guest guest() {
      return base().guest();
    }

    @Override
    public Path stateDirectory() {
      return base().stateDirectory();
    }

    @Override
    public Map<String, String> templateEnvironment() {
      return Map.of();
    }

    @Override
    public Map<String, String> creationEnvironment() {
      return Map.of();
    }

    @Override
    public Map<String, String> platformEnvironment() {
      return Map.of();
    }

    @Override
    public boolean opens(String token) {
      return false;
    }

    @Override
    public boolean isAlive() {
      return true;
    }
  }

  private static final class NoGuest implements Guest {
    @Override
    public GuestProcess start(Spawn spawn) {
      throw new UnsupportedOperationException();
    }

    @Override
    public GuestFiles files(FileRoots roots, GuestUser user) {
      throw new UnsupportedOperationException();
    }

    @Override
    public GuestConnection dial(String host, int port) {
      throw new UnsupportedOperationException();
    }
  }
}
