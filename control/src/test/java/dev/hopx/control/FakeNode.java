package dev.hopx.control;

import dev.hopx.channel.Guest;
import dev.hopx.node.IsolationLevel;
import dev.hopx.node.Node;
import dev.hopx.node.NodeException;
import dev.hopx.node.NodeFullException;
import dev.hopx.node.Resources;
import dev.hopx.node.Sandbox;
import dev.hopx.node.SandboxId;
import dev.hopx.node.SandboxSpec;
import dev.hopx.node.SandboxState;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** A node whose sandboxes are entries of a map; outlives the service, as a real machine does. */
final class FakeNode implements Node {
  private final Map<SandboxId, FakeSandbox> sandboxes = new ConcurrentHashMap<>();
  private final AtomicInteger creations = new AtomicInteger();
  private volatile Consumer<SandboxSpec> duringCreate = _ -> {};
  private volatile Optional<String> full = Optional.empty();
  private volatile Consumer<SandboxId> duringDelete = _ -> {};
  private volatile Consumer<SandboxState> duringMove = _ -> {};

  /** Runs in each creation, after the sandbox is there; throw to fail with it half made. */
  void duringCreate(Consumer<SandboxSpec> action) {
    duringCreate = action;
  }

  /** Runs in each removal, before the sandbox is gone; throw to fail. */
  void duringDelete(Consumer<SandboxId> action) {
    duringDelete = action;
  }

  /** Runs in each move to another state, before it is made; throw to fail. */
  void duringMove(Consumer<SandboxState> action) {
    duringMove = action;
  }

  /** From now on there is no room; empty: there is again. */
  void full(Optional<String> why) {
    full = why;
  }

  /** Ends a sandbox's process 1. */
  void kill(SandboxId id) {
    force(id, SandboxState.ENDED);
  }

  /** Puts a sandbox into a state without anybody having asked. */
  void force(SandboxId id, SandboxState state) {
    sandboxes.computeIfPresent(id, (_, sandbox) -> sandbox.in(state));
  }

  SandboxState state(SandboxId id) {
    return find(id).orElseThrow().state();
  }

  /** As after a reboot of the machine. */
  void lose(SandboxId id) {
    sandboxes.remove(id);
  }

  /** How many creations were begun. */
  int creations() {
    return creations.get();
  }

  @Override
  public String name() {
    return "node-a";
  }

  @Override
  public IsolationLevel isolation() {
    return IsolationLevel.CONTAINER_PRIVATE_IDS;
  }

  @Override
  public void requireRoom(Resources resources) {
    full.ifPresent(
        why -> {
          throw new NodeFullException(why);
        });
  }

  @Override
  public Sandbox create(SandboxSpec spec) {
    creations.incrementAndGet();
    FakeSandbox sandbox = new FakeSandbox(spec, Instant.now(), SandboxState.RUNNING);
    if (sandboxes.putIfAbsent(spec.id(), sandbox) != null) {
      throw new NodeException("There is a sandbox " + spec.id() + " already");
    }
    duringCreate.accept(spec);
    return sandbox;
  }

  @Override
  public Optional<Sandbox> find(SandboxId id) {
    return Optional.ofNullable(sandboxes.get(id));
  }

  @Override
  public List<Sandbox> list() {
    return List.copyOf(sandboxes.values());
  }

  @Override
  public void delete(SandboxId id) {
    duringDelete.accept(id);
    sandboxes.remove(id);
  }

  @Override
  public void pause(SandboxId id) {
    move(id, SandboxState.PAUSED, SandboxState.RUNNING);
  }

  @Override
  public void resume(SandboxId id) {
    move(id, SandboxState.RUNNING, SandboxState.PAUSED);
  }

  @Override
  public void stop(SandboxId id) {
    move(id, SandboxState.STOPPED, SandboxState.RUNNING, SandboxState.PAUSED, SandboxState.ENDED);
  }

  @Override
  public Sandbox start(SandboxId id) {
    move(id, SandboxState.RUNNING, SandboxState.STOPPED);
    return find(id).orElseThrow();
  }

  private void move(SandboxId id, SandboxState target, SandboxState... from) {
    FakeSandbox sandbox = sandboxes.get(id);
    if (sandbox == null) {
      throw new NodeException("There is no sandbox " + id + " on this node");
    }
    if (sandbox.state() == target) {
      return;
    }
    if (!List.of(from).contains(sandbox.state())) {
      throw new NodeException("Sandbox " + id + " is " + sandbox.state());
    }
    duringMove.accept(target);
    force(id, target);
  }

  @Override
  public void close() {}

  private record FakeSandbox(SandboxSpec spec, Instant created, SandboxState state)
      implements Sandbox {
    FakeSandbox in(SandboxState other) {
      return new FakeSandbox(spec, created, other);
    }

    @Override
    public boolean isAlive() {
      return state == SandboxState.RUNNING || state == SandboxState.PAUSED;
    }

    @Override
    public Duration pausedTime() {
      return Duration.ZERO;
    }

    @Override
    public SandboxId id() {
      return spec.id();
    }

    @Override
    public IsolationLevel isolation() {
      return IsolationLevel.CONTAINER_PRIVATE_IDS;
    }

    @Override
    public Guest guest() {
      throw new UnsupportedOperationException("The control plane does not look inside");
    }

    @Override
    public Path stateDirectory() {
      return Path.of("/nonexistent", spec.id().value());
    }

    @Override
    public long memoryBytes() {
      return 0;
    }
  }
}
