package dev.hopx.node;

import dev.hopx.channel.AdoptableProcess;
import dev.hopx.channel.Guest;
import dev.hopx.channel.GuestChannel;
import dev.hopx.channel.GuestException;
import dev.hopx.channel.GuestListener;
import dev.hopx.channel.GuestProcess;
import dev.hopx.channel.Spawn;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A sandbox of this machine. Owns the listener of its guest channel, which it closes; everything
 * else it has is removed by {@link SandboxRemover}.
 */
final class LocalSandbox implements ManagedSandbox {
  private static final Logger LOG = LoggerFactory.getLogger(LocalSandbox.class);

  private static final Duration TERMINATION_PAUSE = Duration.ofMillis(5);

  /** For the guest to tell how the last processes ended, when a sandbox is stopped. */
  private static final Duration LAST_WORDS = Duration.ofSeconds(1);

  private final StoredSandbox stored;
  private final SandboxSpec spec;
  private final IsolationLevel isolation;
  private final Instant created;
  private final ProcessIdentity init;
  private final SandboxPaths paths;
  private final SandboxGroups groups;
  private final GuestListener listener;
  private final Executions executions;
  private final Guest guest;
  private final List<KeptProcess> kept = new CopyOnWriteArrayList<>();
  private final CountDownLatch settled = new CountDownLatch(1);
  private final PauseTimer pauses = new PauseTimer();
  private volatile boolean stopping;
  private volatile boolean closed;

  LocalSandbox(
      StoredSandbox stored, SandboxPaths paths, SandboxGroups groups, GuestListener listener) {
    this.stored = stored;
    this.spec = stored.spec();
    this.isolation = IsolationLevel.valueOf(stored.isolation());
    this.created = Instant.parse(stored.created());
    this.init =
        stored.init().orElseThrow(() -> new NodeException("The sandbox has no process 1 yet"));
    this.paths = paths;
    this.groups = groups;
    this.listener = listener;
    this.executions = new Executions(groups, init);
    this.guest = new SandboxGuest(listener.channel(), executions);
    if (groups.freezer().isRequested()) {
      pauses.begin();
    }
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
    return isolation;
  }

  @Override
  public Instant created() {
    return created;
  }

  @Override
  public Guest guest() {
    return guest;
  }

  @Override
  public SandboxState state() {
    if (stopping) {
      return SandboxState.STOPPED;
    }
    if (!isAlive()) {
      return SandboxState.ENDED;
    }
    return pauses.isPaused() ? SandboxState.PAUSED : SandboxState.RUNNING;
  }

  @Override
  public Duration pausedTime() {
    return pauses.total();
  }

  @Override
  public boolean isAlive() {
    return !closed && init.isAlive();
  }

  @Override
  public Path stateDirectory() {
    return paths.state();
  }

  @Override
  public List<KeptProcess> keptProcesses() {
    return List.copyOf(kept);
  }

  @Override
  public long memoryBytes() {
    return groups.memoryBytes();
  }

  @Override
  public long memoryKills() {
    return groups.memoryKills();
  }

  @Override
  public StoredSandbox stored() {
    return stored;
  }

  @Override
  public Slot slot() {
    return stored.slot();
  }

  ProcessIdentity init() {
    return init;
  }

  /** Returns when nothing in it runs any more; known as paused a moment before. */
  void pause() {
    boolean frozen = false;
    pauses.begin();
    try {
      groups.freezer().freeze();
      frozen = true;
    } finally {
      if (!frozen) {
        pauses.end();
      }
    }
  }

  void resume() {
    groups.freezer().thaw();
    pauses.end();
  }

  /**
   * Asks the users' processes to end and waits for them.
   *
   * @param hurry asked while it waits; true ends the grace
   */
  void terminate(Duration grace, BooleanSupplier hurry) {
    stopping = true;
    long deadline = System.nanoTime() + grace.toNanos();
    for (long process : groups.userProcesses()) {
      ProcessHandle.of(process).ifPresent(ProcessHandle::destroy);
    }
    resume();
    try {
      while (!groups.userProcesses().isEmpty()
          && init.isAlive()
          && System.nanoTime() - deadline < 0
          && !hurry.getAsBoolean()) {
        Thread.sleep(TERMINATION_PAUSE);
      }
      hearOfEnds();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new NodeException("Interrupted while stopping " + id(), e);
    }
  }

  /** The guest's word of how a process ended comes before its answer to a question asked later. */
  private void hearOfEnds() throws InterruptedException {
    try {
      var _ = listener.channel().ping(LAST_WORDS);
    } catch (GuestException e) {
      LOG.debug("Sandbox {} ended before it could tell how its processes did", id(), e);
    }
  }

  /**
   * For a sandbox of an earlier server: ends what was in the foreground, takes over what was to be
   * kept. Waits for the guest as long as the sandbox lives, so it has a thread of its own.
   */
  void settle() {
    GuestChannel channel = listener.channel();
    try {
      while (isAlive() && channel.failure().isEmpty()) {
        if (awaitGuest(channel)) {
          channel.adoptable().forEach(process -> settle(channel, process));
          return;
        }
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } finally {
      settled.countDown();
    }
  }

  /** False when the sandbox's guest has not come back in time; it goes on being waited for. */
  boolean awaitSettled(Duration timeout) throws InterruptedException {
    return settled.await(timeout.toNanos(), TimeUnit.NANOSECONDS);
  }

  private static boolean awaitGuest(GuestChannel channel) throws InterruptedException {
    try {
      channel.awaitConnected(Duration.ofSeconds(5));
      return true;
    } catch (GuestException _) {
      return false;
    }
  }

  private void settle(GuestChannel channel, AdoptableProcess process) {
    Optional<ExecutionTag> tag = ExecutionTag.parse(process.tag());
    try {
      if (tag.isPresent() && process.keep() && process.state() != AdoptableProcess.State.HELD) {
        GuestProcess resumed = channel.resume(process, executions.adopt(tag.get().execution()));
        kept.add(new KeptProcess(tag.get().tag(), resumed));
      } else if (tag.isPresent()
          && tag.get().tag().equals(Spawn.LONG_LIVED_TAG)
          && process.state() != AdoptableProcess.State.HELD) {
        Orphans.release(channel.resume(process, executions.adopt(tag.get().execution())));
      } else {
        channel.release(process);
        tag.ifPresent(known -> executions.end(known.execution()));
      }
    } catch (GuestException | NodeException e) {
      LOG.warn("{}: cannot settle process {}: {}", id(), process.pid(), e.getMessage());
    }
  }

  /** Notices the end of process 1 and control groups that have become empty. */
  @Override
  public void sweep() {
    if (!closed && !init.isAlive()) {
      LOG.info("{}: process 1 has ended", id());
      close();
    } else {
      executions.sweep();
    }
  }

  /** Ends the channel, not the sandbox. Idempotent. */
  @Override
  public void close() {
    closed = true;
    listener.close();
  }
}
