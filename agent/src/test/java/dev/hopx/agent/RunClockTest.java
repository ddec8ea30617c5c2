package dev.hopx.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hopx.channel.GuestProcess;
import dev.hopx.channel.ProcessExit;
import dev.hopx.channel.Spawn;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

/** The time-out of a run stands still while its sandbox is paused. */
class RunClockTest {
  private final TestPause pause = new TestPause();
  private final AgentSandbox sandbox =
      new TestSandbox(new NoGuest(), Path.of("/nonexistent"), () -> true, pause);
  private final EndlessProcess process = new EndlessProcess();

  @Test
  void withoutAPauseItIsTheTimeOut() throws Exception {
    long begin = System.nanoTime();
    assertThat(RunClock.awaitExit(sandbox, process, Duration.ofMillis(200))).isEmpty();
    assertThat(System.nanoTime() - begin).isGreaterThanOrEqualTo(200_000_000);
  }

  @Test
  void aPauseIsAddedToIt() throws Exception {
    long begin = System.nanoTime();
    CompletableFuture<Optional<ProcessExit>> wait = waiting(Duration.ofMillis(600));
    Thread.sleep(100);
    pause.pause();
    Thread.sleep(1_000);
    assertThat(wait).isNotDone();
    pause.resume();
    assertThat(wait.get(10, TimeUnit.SECONDS)).isEmpty();
    assertThat(System.nanoTime() - begin).isGreaterThanOrEqualTo(1_500_000_000);
  }

  @Test
  void whoEndsRightAfterThePauseHasEndedInTime() throws Exception {
    CompletableFuture<Optional<ProcessExit>> wait = waiting(Duration.ofMillis(300));
    Thread.sleep(50);
    pause.pause();
    Thread.sleep(600);
    pause.resume();
    process.end();
    assertThat(wait.get(10, TimeUnit.SECONDS)).isPresent();
  }

  @Test
  void hugeTimesAreHonoured() throws Exception {
    CompletableFuture<Optional<ProcessExit>> wait = waiting(Duration.ofSeconds(Long.MAX_VALUE));
    Thread.sleep(100);
    assertThat(wait).isNotDone();
    process.end();
    assertThat(wait.get(10, TimeUnit.SECONDS)).isPresent();
  }

  private CompletableFuture<Optional<ProcessExit>> waiting(Duration timeout) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return RunClock.awaitExit(sandbox, process, timeout);
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
        });
  }

  /** Runs until it is told to end. */
  private static final class EndlessProcess implements GuestProcess {
    private final CompletableFuture<ProcessExit> exit = new CompletableFuture<>();

    void end() {
      exit.complete(
          new ProcessExit(OptionalInt.of(0), OptionalInt.empty(), Duration.ZERO, Duration.ZERO, 0));
    }

    @Override
    public Optional<ProcessExit> awaitExit(Duration timeout) throws InterruptedException {
      try {
        return Optional.of(exit.get(TimeUnit.NANOSECONDS.convert(timeout), TimeUnit.NANOSECONDS));
      } catch (TimeoutException _) {
        return Optional.empty();
      } catch (ExecutionException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public ProcessExit awaitExit() {
      return exit.join();
    }

    @Override
    public int pid() {
      return 2;
    }

    @Override
    public OutputStream stdin() {
      return OutputStream.nullOutputStream();
    }

    @Override
    public InputStream stdout() {
      return InputStream.nullInputStream();
    }

    @Override
    public InputStream stderr() {
      return InputStream.nullInputStream();
    }

    @Override
    public void signal(int signal, boolean group) {}

    @Override
    public void resize(Spawn.TerminalSize size) {}

    @Override
    public void killTree() {}

    @Override
    public void close() {}
  }

  /** Nobody looks inside here. */
  private static final class NoGuest implements dev.hopx.channel.Guest {
    @Override
    public GuestProcess start(Spawn spawn) {
      throw new UnsupportedOperationException();
    }

    @Override
    public dev.hopx.channel.GuestFiles files(
        dev.hopx.channel.FileRoots roots, dev.hopx.channel.GuestUser user) {
      throw new UnsupportedOperationException();
    }

    @Override
    public dev.hopx.channel.GuestConnection dial(String host, int port) {
      throw new UnsupportedOperationException();
    }
  }
}
