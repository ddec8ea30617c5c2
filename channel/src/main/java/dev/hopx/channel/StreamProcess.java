package dev.hopx.channel;

import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Optional;

/** A process over its stream. */
final class StreamProcess implements GuestProcess {
  private final GuestChannel channel;
  private final ChannelSettings settings;
  private final GuestStream stream;
  private final int pid;
  private final Optional<SpawnHook> hook;
  private final StreamOutput stdin;
  private final StreamInput stdout;
  private final StreamInput stderr;

  StreamProcess(
      GuestChannel channel,
      ChannelSettings settings,
      GuestStream stream,
      int pid,
      Optional<SpawnHook> hook) {
    this.channel = channel;
    this.settings = settings;
    this.stream = stream;
    this.pid = pid;
    this.hook = hook;
    this.stdin = new StreamOutput(stream);
    this.stdout = new StreamInput(stream, Protocol.OUT);
    this.stderr = new StreamInput(stream, Protocol.ERR);
  }

  @Override
  public int pid() {
    return pid;
  }

  @Override
  public OutputStream stdin() {
    if (!stream.hasInput()) {
      throw new IllegalStateException("The process was started without a standard input");
    }
    return stdin;
  }

  @Override
  public InputStream stdout() {
    return stdout;
  }

  @Override
  public InputStream stderr() {
    return stderr;
  }

  @Override
  public ProcessExit awaitExit() throws InterruptedException {
    return stream.awaitExit(Long.MAX_VALUE).orElseThrow();
  }

  @Override
  public Optional<ProcessExit> awaitExit(Duration timeout) throws InterruptedException {
    return stream.awaitExit(GuestStream.nanos(timeout));
  }

  @Override
  public void signal(int signal, boolean group) {
    if (signal < 1 || signal > Protocol.MAX_SIGNAL) {
      throw new IllegalArgumentException("A signal is 1 to " + Protocol.MAX_SIGNAL);
    }
    send(Frames.signal(stream.id(), signal, group));
  }

  @Override
  public void resize(Spawn.TerminalSize size) {
    send(Frames.resize(stream.id(), size));
  }

  private void send(byte[] frame) {
    try {
      stream.send(frame, GuestStream.nanos(settings.reconnect()));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new GuestException(GuestException.Kind.LOST, "Interrupted", e);
    }
  }

  @Override
  public void killTree() {
    if (hook.isPresent()) {
      hook.get().killTree();
      return;
    }
    signal(Protocol.SIGKILL, true);
    try {
      if (stream.awaitExit(GuestStream.nanos(settings.answer())).isEmpty()) {
        throw new GuestException(
            GuestException.Kind.LOST, 0, "Process " + pid + " did not die; is the guest paused?");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new GuestException(GuestException.Kind.LOST, "Interrupted", e);
    }
  }

  @Override
  public void close() {
    channel.forget(stream);
    if (stream.close(false)) {
      hook.ifPresent(SpawnHook::released);
    }
  }
}
