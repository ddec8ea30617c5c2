package dev.hopx.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hopx.channel.GuestProcess;
import dev.hopx.channel.ProcessExit;
import dev.hopx.channel.Spawn;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class LeftoversTest {
  private final Leftovers leftovers = new Leftovers();

  private HeldProcess keep() throws IOException {
    HeldProcess process = new HeldProcess();
    leftovers.keep(
        process,
        OutputPump.start(process.stdout(), 100),
        OutputPump.start(InputStream.nullInputStream(), 100));
    return process;
  }

  @Test
  void aProcessIsClosedWhenItsLastPipeEnds() throws Exception {
    HeldProcess process = keep();
    process.writer.write(new byte[2000]);
    assertThat(process.closed).isFalse();

    process.writer.close();

    Instant deadline = Instant.now().plusSeconds(5);
    while (!process.closed.get()) {
      assertThat(Instant.now()).isBefore(deadline);
      Thread.sleep(5);
    }
    assertThat(leftovers.size()).isZero();
  }

  @Test
  void theOldestIsLetGoAboveTheLimit() throws Exception {
    List<HeldProcess> processes = new ArrayList<>();
    for (int index = 0; index < Leftovers.MAX_KEPT; index++) {
      processes.add(keep());
    }
    assertThat(processes).noneMatch(process -> process.closed.get());

    processes.add(keep());

    assertThat(processes.getFirst().closed).isTrue();
    assertThat(processes.get(1).closed).isFalse();
    assertThat(leftovers.size()).isEqualTo(Leftovers.MAX_KEPT);
    for (HeldProcess process : processes) {
      process.writer.close();
    }
  }

  /** An ended process whose stdout someone else holds. */
  private static final class HeldProcess implements GuestProcess {
    private final PipedOutputStream writer = new PipedOutputStream();
    private final PipedInputStream stdout = new PipedInputStream(writer, 4096);
    private final AtomicBoolean closed = new AtomicBoolean();

    HeldProcess() throws IOException {}

    @Override
    public int pid() {
      return 7;
    }

    @Override
    public OutputStream stdin() {
      throw new UnsupportedOperationException();
    }

    @Override
    public InputStream stdout() {
      return stdout;
    }

    @Override
    public InputStream stderr() {
      return InputStream.nullInputStream();
    }

    @Override
    public ProcessExit awaitExit() {
      throw new UnsupportedOperationException();
    }

    @Override
    public Optional<ProcessExit> awaitExit(Duration timeout) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void signal(int signal, boolean group) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void resize(Spawn.TerminalSize size) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void killTree() {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
      closed.set(true);
    }
  }
}
