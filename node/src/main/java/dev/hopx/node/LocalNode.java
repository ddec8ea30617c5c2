package dev.hopx.node;

import static java.util.Objects.requireNonNull;

import dev.hopx.channel.ChannelSettings;
import dev.hopx.channel.GuestListener;
import dev.hopx.guest.GuestBinaries;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The node of this machine: crun containers. Needs root. Owns the host helper, the sandboxes'
 * channels and a sweeping thread, and closes them; the sandboxes themselves outlive it.
 */
public final class LocalNode implements Node {
  private static final Logger LOG = LoggerFactory.getLogger(LocalNode.class);

  /** How long a start waits for the sandboxes it adopts to dial; those that are late go on. */
  static final Duration ADOPTION_WAIT = Duration.ofSeconds(10);

  /** How long the end waits for removals in the background. */
  static final Duration REMOVALS_WAIT = Duration.ofSeconds(5);

  /** What a stop gives the users' processes between SIGTERM and SIGKILL. */
  static final Duration STOP_GRACE = Duration.ofSeconds(5);

  static final Duration TRIM_INTERVAL = Duration.ofMinutes(1);
  static final Duration SWEEP_INTERVAL = Duration.ofSeconds(1);

  private final NodeOptions options;
  private final RunDirectoryLock runLock;
  private final HostHelper host;
  private final Slots slots;
  private final ControlGroups controlGroups;
  private final Firewall firewall;
  private final SandboxCreator creator;
  private final SandboxRemover remover;
  private final Admission admission;
  private final Disks disks;
  private final Map<SandboxId, ManagedSandbox> sandboxes = new ConcurrentHashMap<>();

  /** One creation or removal of an id at a time. */
  private final KeyedLocks<SandboxId> locks = new KeyedLocks<>();

  /** Those that somebody waits to delete: their processes need no grace any more. */
  private final Set<SandboxId> doomed = ConcurrentHashMap.newKeySet();

  private final DeferredRemovals removals = new DeferredRemovals();
  private final Thread sweeper;
  private final Thread trimmer;
  private final AdoptionReport adoption;
  private volatile boolean closed;

  private LocalNode(
      NodeOptions options,
      CreationStep.Observer observer,
      RunDirectoryLock runLock,
      ControlGroupLayout layout,
      GuestBinaries binaries,
      HostHelper host) {
    this.options = options;
    this.runLock = runLock;
    this.host = host;
    String boot = HostSetup.bootId();
    Subnet subnet = Subnet.parse(options.sandboxSubnet());
    String linkPrefix = Firewall.linkPrefix(options.instance());
    this.slots = new Slots(linkPrefix, subnet, options.uidBase());
    this.controlGroups = new ControlGroups(layout, options.instance());
    controlGroups.prepare();
    this.admission = new Admission(options.admission(), options.dataDirectory());
    this.firewall = new Firewall(options.instance(), HostNetwork.connectionsOfOne());
    ContainerRuntime runtime =
        new ContainerRuntime(
            options.crun(), options.runDirectory().resolve("crun"), options.startTimeout());
    LOG.info("Node {}: {}, at most {} sandboxes", options.name(), runtime.version(), slots.count());
    this.remover = new SandboxRemover(options, host, controlGroups, runtime, removals, boot);
    this.disks = new Disks(options, host);
    this.creator =
        new SandboxCreator(
            options,
            host,
            binaries.init(),
            slots,
            disks,
            controlGroups,
            firewall,
            runtime,
            new RuntimeConfiguration(readFilter(binaries), HostLimits.read()),
            remover,
            boot,
            observer);
    runtime.endStrayStarts();
    HostNetwork.enableForwarding();
    HostNetwork.allowNeighbours(host);
    HostResolvers resolvers = HostResolvers.read();
    if (resolvers.servers().isEmpty()) {
      LOG.warn(
          "The host has no resolver that sandboxes can reach (all are on loopback or IPv6);"
              + " names will not resolve inside. Put a reachable nameserver into /etc/resolv.conf");
    }
    firewall.install(resolvers.servers());
    this.adoption = new Adoption(boot).run();
    this.sweeper = Thread.ofVirtual().name("node-sweeper").start(this::sweepForever);
    this.trimmer = Thread.ofVirtual().name("node-trimmer").start(this::trimForever);
  }

  /**
   * Starts managing this machine's sandboxes: prepares the host, goes on with the sandboxes of an
   * earlier server, removes what is left of dead ones.
   *
   * @throws NodeException when the host lacks something; the message says what and how to mend it
   */
  public static LocalNode start(NodeOptions options) {
    return start(options, CreationStep.Observer.NONE);
  }

  static LocalNode start(NodeOptions options, CreationStep.Observer observer) {
    requireNonNull(options, "options is null");
    HostSetup.requireRoot();
    ControlGroupLayout layout = ControlGroupLayout.detect(MountTable.read());
    HostSetup.privateDirectory(options.dataDirectory());
    HostSetup.privateDirectory(options.runDirectory());
    HostSetup.privateDirectory(SandboxPaths.dataDirectory(options));
    HostSetup.privateDirectory(SandboxPaths.discarded(options));
    HostSetup.privateDirectory(SandboxPaths.runDirectory(options));
    HostSetup.allowPrograms(options.runDirectory());
    RunDirectoryLock runLock = RunDirectoryLock.take(options.runDirectory());
    boolean started = false;
    try {
      GuestBinaries binaries = GuestBinaries.extractTo(options.runDirectory().resolve("bin"));
      HostHelper host = HostHelper.start(binaries.host());
      try {
        LocalNode node = new LocalNode(options, observer, runLock, layout, binaries, host);
        started = true;
        return node;
      } finally {
        if (!started) {
          host.close();
        }
      }
    } finally {
      if (!started) {
        runLock.close();
      }
    }
  }

  private static byte[] readFilter(GuestBinaries binaries) {
    try {
      return Files.readAllBytes(binaries.seccompFilter());
    } catch (IOException e) {
      throw new NodeException("Cannot read " + binaries.seccompFilter(), e);
    }
  }

  /** What this node found when it started. */
  public AdoptionReport adoption() {
    return adoption;
  }

  @Override
  public String name() {
    return options.name();
  }

  @Override
  public IsolationLevel isolation() {
    return IsolationLevel.CONTAINER_PRIVATE_IDS;
  }

  @Override
  public void requireRoom(Resources resources) {
    admission.requireRoom(resources);
  }

  @Override
  public Sandbox create(SandboxSpec spec) {
    requireNonNull(spec, "spec is null");
    requireOpen();
    return Uninterrupted.call(() -> locks.with(spec.id(), () -> createLocked(spec)));
  }

  private LocalSandbox createLocked(SandboxSpec spec) {
    requireOpen();
    if (sandboxes.containsKey(spec.id())) {
      throw new NodeException("Sandbox " + spec.id() + " exists already");
    }
    admission.admit(spec.id(), spec.resources());
    boolean created = false;
    try {
      LocalSandbox sandbox = creator.create(spec);
      sandboxes.put(spec.id(), sandbox);
      created = true;
      return sandbox;
    } finally {
      if (!created) {
        admission.release(spec.id());
      }
    }
  }

  @Override
  public Optional<Sandbox> find(SandboxId id) {
    return Optional.ofNullable(sandboxes.get(id));
  }

  @Override
  public List<Sandbox> list() {
    return sandboxes.values().stream()
        .sorted(
            Comparator.comparing(ManagedSandbox::created)
                .thenComparing(sandbox -> sandbox.id().value()))
        .map(Sandbox.class::cast)
        .toList();
  }

  @Override
  public void pause(SandboxId id) {
    var _ = exclusively(id, () -> pauseLocked(id));
  }

  private ManagedSandbox pauseLocked(SandboxId id) {
    LocalSandbox sandbox = withProcesses(id, "paused");
    if (sandbox.state() != SandboxState.PAUSED) {
      sandbox.pause();
    }
    return sandbox;
  }

  @Override
  public void resume(SandboxId id) {
    var _ = exclusively(id, () -> resumeLocked(id));
  }

  private ManagedSandbox resumeLocked(SandboxId id) {
    LocalSandbox sandbox = withProcesses(id, "resumed");
    if (sandbox.state() == SandboxState.PAUSED) {
      sandbox.resume();
    }
    return sandbox;
  }

  @Override
  public void stop(SandboxId id) {
    var _ = exclusively(id, () -> stopLocked(id));
  }

  private ManagedSandbox stopLocked(SandboxId id) {
    ManagedSandbox present = present(id);
    if (!(present instanceof LocalSandbox sandbox)) {
      return present;
    }
    SandboxPaths paths = SandboxPaths.of(options, id);
    StoredSandbox stopped = sandbox.stored().stopped(Instant.now());
    // First of all: whatever happens from here on, the next start of the server ends it, too.
    stopped.write(paths.record());
    sandbox.terminate(STOP_GRACE, () -> doomed.contains(id));
    sandbox.close();
    remover.shutDown(stopped);
    StoppedSandbox result = new StoppedSandbox(stopped, paths);
    sandboxes.put(id, result);
    return result;
  }

  @Override
  public Sandbox start(SandboxId id) {
    return exclusively(id, () -> startLocked(id));
  }

  private ManagedSandbox startLocked(SandboxId id) {
    ManagedSandbox present = present(id);
    if (present.state() != SandboxState.STOPPED) {
      return present;
    }
    // A stop that failed half way is finished first.
    ManagedSandbox stopped = stopLocked(id);
    LocalSandbox started = creator.restart(stopped.stored());
    sandboxes.put(id, started);
    return started;
  }

  private LocalSandbox withProcesses(SandboxId id, String purpose) {
    ManagedSandbox present = present(id);
    if (present instanceof LocalSandbox sandbox
        && (sandbox.state() == SandboxState.RUNNING || sandbox.state() == SandboxState.PAUSED)) {
      return sandbox;
    }
    throw new NodeException(
        "Sandbox %s cannot be %s: it is %s"
            .formatted(id, purpose, present.state().name().toLowerCase(Locale.ROOT)));
  }

  private ManagedSandbox present(SandboxId id) {
    ManagedSandbox present = sandboxes.get(id);
    if (present == null) {
      throw new NodeException("There is no sandbox " + id + " on this node");
    }
    return present;
  }

  private ManagedSandbox exclusively(SandboxId id, Supplier<ManagedSandbox> action) {
    requireNonNull(id, "id is null");
    requireOpen();
    return Uninterrupted.call(
        () ->
            locks.with(
                id,
                () -> {
                  requireOpen();
                  return action.get();
                }));
  }

  @Override
  public void delete(SandboxId id) {
    requireNonNull(id, "id is null");
    requireOpen();
    doomed.add(id);
    try {
      Uninterrupted.call(
          () ->
              locks.with(
                  id,
                  () -> {
                    deleteLocked(id);
                    return true;
                  }));
    } finally {
      doomed.remove(id);
    }
  }

  private void deleteLocked(SandboxId id) {
    requireOpen();
    SandboxPaths paths = SandboxPaths.of(options, id);
    ManagedSandbox sandbox = sandboxes.get(id);
    if (sandbox == null && !Files.exists(paths.data()) && !Files.exists(paths.run())) {
      return;
    }
    if (sandbox != null) {
      sandbox.close();
    }
    remover.remove(id, StoredSandbox.read(paths.record()));
    if (sandbox != null) {
      sandboxes.remove(id);
      admission.release(id);
      Slot slot = sandbox.slot();
      remover.removeLink(slot.link(), () -> slots.giveBack(slot));
    }
  }

  /** Waits until the removals in the background are done; for tests. */
  boolean awaitRemovals(Duration timeout) {
    return removals.awaitAll(timeout);
  }

  private void requireOpen() {
    if (closed) {
      throw new NodeException("The node is closed");
    }
  }

  private void sweepForever() {
    try {
      while (true) {
        Thread.sleep(SWEEP_INTERVAL);
        for (ManagedSandbox sandbox : sandboxes.values()) {
          sweep(sandbox);
        }
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private void trimForever() {
    try {
      while (true) {
        Thread.sleep(TRIM_INTERVAL);
        trimDisks();
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Gives back to the host what sandboxes have freed on their disks; a paused one as well, which
   * may have freed it right before.
   */
  void trimDisks() {
    for (ManagedSandbox sandbox : sandboxes.values()) {
      if (!sandbox.isAlive()) {
        continue;
      }
      try {
        disks.trim(SandboxPaths.of(options, sandbox.id()));
      } catch (RuntimeException e) {
        if (!closed && sandbox.isAlive()) {
          LOG.warn("{}: its disk could not be trimmed: {}", sandbox.id(), e.getMessage());
        }
      }
    }
  }

  private static void sweep(ManagedSandbox sandbox) {
    try {
      sandbox.sweep();
    } catch (RuntimeException e) {
      LOG.warn("{}: sweeping failed: {}", sandbox.id(), e.getMessage());
    }
  }

  /** Lets go of the sandboxes; what the node itself had on the host goes when none is left. */
  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    Uninterrupted.run(
        () -> {
          sweeper.interrupt();
          trimmer.interrupt();
          locks.awaitAll();
          if (!removals.awaitAll(REMOVALS_WAIT)) {
            LOG.info("Some files of deleted sandboxes are left for the next start to remove");
          }
          removals.close();
          sandboxes.values().forEach(ManagedSandbox::close);
          if (sandboxes.isEmpty() && controlGroups.sandboxes().isEmpty()) {
            firewall.remove();
            controlGroups.removeInstance();
          }
          host.close();
          runLock.close();
        });
  }

  /** The start of a node on a machine where another one has been. */
  private final class Adoption {
    private final String boot;
    private final List<SandboxId> adopted = new ArrayList<>();
    private final List<SandboxId> removed = new ArrayList<>();
    private final List<String> problems = new ArrayList<>();

    Adoption(String boot) {
      this.boot = boot;
    }

    AdoptionReport run() {
      remover.resume();
      for (SandboxId id : present()) {
        try {
          settle(id);
        } catch (RuntimeException e) {
          LOG.error("Sandbox {} of an earlier server: {}", id, e.getMessage(), e);
          problems.add(id + ": " + e.getMessage());
        }
      }
      awaitGuests();
      removeForeignLinks();
      AdoptionReport report = new AdoptionReport(adopted, removed, problems);
      if (!adopted.isEmpty() || !removed.isEmpty() || !problems.isEmpty()) {
        LOG.info(
            "Found {} sandboxes of an earlier server, removed {} dead ones, {} problems",
            adopted.size(),
            removed.size(),
            problems.size());
      }
      return report;
    }

    private Set<SandboxId> present() {
      Set<SandboxId> ids = new LinkedHashSet<>();
      ids.addAll(names(SandboxPaths.dataDirectory(options)));
      ids.addAll(names(SandboxPaths.runDirectory(options)));
      ids.addAll(controlGroups.sandboxes());
      return ids;
    }

    private void settle(SandboxId id) {
      SandboxPaths paths = SandboxPaths.of(options, id);
      Optional<StoredSandbox> stored = readRecord(id, paths);
      if (stored.isPresent() && stored.get().stopped().isPresent()) {
        adoptStopped(stored.get(), paths);
      } else if (stored.isPresent() && stored.get().runningInit(boot).isPresent()) {
        adopt(stored.get(), paths);
      } else {
        remover.remove(id, stored);
        stored.ifPresent(known -> host.removeLink(known.slot().link()));
        removed.add(id);
      }
    }

    /** A record that a power cut has spoilt is none; one of a running sandbox is not guessed. */
    private Optional<StoredSandbox> readRecord(SandboxId id, SandboxPaths paths) {
      try {
        return StoredSandbox.read(paths.record());
      } catch (NodeException e) {
        if (controlGroups.of(id).isEmpty()) {
          LOG.warn("Sandbox {} does not run and its record is spoilt: {}", id, e.getMessage());
          return Optional.empty();
        }
        throw e;
      }
    }

    /** Also after a reboot; also one whose stop or start was cut short: it is stopped then. */
    private void adoptStopped(StoredSandbox stored, SandboxPaths paths) {
      SandboxId id = new SandboxId(stored.id());
      slots.reserve(stored.slot());
      sandboxes.put(id, new StoppedSandbox(stored, paths));
      // It keeps its place, so that others cannot keep it from being started.
      admission.adopt(id, stored.resources());
      adopted.add(id);
      // What fails here is tried again by a start.
      remover.shutDown(stored);
    }

    private void adopt(StoredSandbox stored, SandboxPaths paths) {
      SandboxId id = new SandboxId(stored.id());
      slots.reserve(stored.slot());
      ProcessIdentity init =
          stored.init().orElseThrow(() -> new NodeException("The record names no process 1"));
      try {
        GuestListener listener =
            GuestListener.bind(
                id.value(), paths.guestSocket(), pid -> pid == init.pid(), ChannelSettings.DEFAULT);
        LocalSandbox sandbox = new LocalSandbox(stored, paths, controlGroups.of(id), listener);
        sandboxes.put(id, sandbox);
        admission.adopt(id, stored.resources());
        adopted.add(id);
        Thread.ofVirtual().name("node-adoption " + id).start(sandbox::settle);
      } catch (IOException e) {
        throw new NodeException("Cannot listen on " + paths.guestSocket() + ": " + e, e);
      }
    }

    private void awaitGuests() {
      long deadline = System.nanoTime() + ADOPTION_WAIT.toNanos();
      for (LocalSandbox sandbox : awaited()) {
        try {
          Duration left = Duration.ofNanos(Math.max(0, deadline - System.nanoTime()));
          if (!sandbox.awaitSettled(left)) {
            problems.add(sandbox.id() + ": its process 1 has not dialled yet");
          }
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          throw new NodeException("Interrupted while adopting sandboxes", e);
        }
      }
    }

    /** A paused one dials when it goes on; its processes are settled then. */
    private List<LocalSandbox> awaited() {
      return sandboxes.values().stream()
          .filter(LocalSandbox.class::isInstance)
          .map(LocalSandbox.class::cast)
          .filter(sandbox -> sandbox.state() != SandboxState.PAUSED)
          .toList();
    }

    /** Links of sandboxes that died so early that nobody wrote down that they had one. */
    private void removeForeignLinks() {
      Set<String> ours = new LinkedHashSet<>();
      sandboxes.values().forEach(sandbox -> ours.add(sandbox.slot().link()));
      if (problems.isEmpty()) {
        for (String link : HostNetwork.links(Firewall.linkPrefix(options.instance()))) {
          if (!ours.contains(link)) {
            host.removeLink(link);
          }
        }
      }
    }

    private static List<SandboxId> names(Path directory) {
      try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
        List<SandboxId> ids = new ArrayList<>();
        for (Path entry : entries) {
          String name = entry.getFileName().toString();
          if (SandboxId.isValid(name)) {
            ids.add(new SandboxId(name));
          }
        }
        return ids;
      } catch (IOException e) {
        throw new NodeException("Cannot list " + directory, e);
      }
    }
  }
}
