package dev.hopx.node;

import dev.hopx.channel.Guest;
import dev.hopx.channel.GuestException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;

/** A sandbox of which only the files, the slot and the identity are there. Owns nothing. */
final class StoppedSandbox implements ManagedSandbox {
  private final StoredSandbox stored;
  private final SandboxSpec spec;
  private final SandboxPaths paths;

  StoppedSandbox(StoredSandbox stored, SandboxPaths paths) {
    this.stored = stored;
    this.spec = stored.spec();
    this.paths = paths;
  }

  @Override
  public StoredSandbox stored() {
    return stored;
  }

  @Override
  public Slot slot() {
    return stored.slot();
  }

  @Override
  public SandboxId id() {
    return spec.id();
  }

  @Override
  public SandboxSpec spec() {
    return spec;
  }

  @Override
  public IsolationLevel isolation() {
    return IsolationLevel.valueOf(stored.isolation());
  }

  @Override
  public Instant created() {
    return Instant.parse(stored.created());
  }

  @Override
  public Guest guest() {
    throw new GuestException(GuestException.Kind.LOST, 0, "The sandbox is stopped; start it first");
  }

  @Override
  public SandboxState state() {
    return SandboxState.STOPPED;
  }

  @Override
  public Duration pausedTime() {
    return Duration.ZERO;
  }

  @Override
  public boolean isAlive() {
    return false;
  }

  @Override
  public Path stateDirectory() {
    return paths.state();
  }

  @Override
  public long memoryBytes() {
    return 0;
  }

  @Override
  public void sweep() {}

  @Override
  public void close() {}
}
