package dev.hopx.control;

import static java.util.Objects.requireNonNull;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.node.IsolationLevel;
import dev.hopx.node.Node;
import dev.hopx.node.NodeException;
import dev.hopx.node.NodeFullException;
import dev.hopx.node.Sandbox;
import dev.hopx.node.SandboxId;
import dev.hopx.node.SandboxSpec;
import dev.hopx.template.Template;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jdbi.v3.core.Handle;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The life of sandboxes: the store says what should be, the node what is, and this class moves both
 * together. A row is written before the node is asked and removed after it, so that whatever is cut
 * short leaves a row, from which {@link #start} or a later sweep goes on. Thread-safe; methods
 * block and are meant for virtual threads.
 *
 * <p>Owns the sweeping thread and, among those it published, the endpoints of agents. Does not own
 * the store and the node.
 */
public final class SandboxService implements AutoCloseable {
  /** How long a deleted sandbox is still known to have been one (decision 12). */
  static final Duration TOMBSTONE = Duration.ofHours(1);

  /** Ports in use by other programs are few; so many in a row mean another fault. */
  static final int MAX_PORT_ATTEMPTS = 100;

  /** How long the end of a sandbox waits for room in the store once its files are gone. */
  static final Duration STORE_WAIT = Duration.ofSeconds(5);

  private static final Duration STORE_POLL = Duration.ofMillis(100);

  /** When a client that found no room should try again. */
  static final int NO_ROOM_RETRY_SECONDS = 5;

  private static final Logger log = LoggerFactory.getLogger(SandboxService.class);

  private final Regions regions;
  private final Store store;
  private final Node node;
  private final AgentEndpoints endpoints;
  private final InstantSource clock;
  private final SandboxIds ids;
  private final AgentPorts ports;
  private final SandboxSweeper sweeper;
  private final SandboxLifecycle lifecycle;

  /** Removal of one sandbox happens once at a time; who comes second waits for its end. */
  private final KeyedLocks removals = new KeyedLocks();

  public SandboxService(
      ControlSettings settings,
      Store store,
      Node node,
      AgentEndpoints endpoints,
      InstantSource clock) {
    this.regions = new Regions(settings.region());
    this.store = requireNonNull(store);
    this.node = requireNonNull(node);
    this.endpoints = requireNonNull(endpoints);
    this.clock = requireNonNull(clock);
    this.ids = new SandboxIds(clock);
    this.ports = new AgentPorts(settings.firstAgentPort(), settings.lastAgentPort());
    this.sweeper = new SandboxSweeper(this, clock);
    this.lifecycle = new SandboxLifecycle(this, store, node, clock, sweeper::expiryChanged);
  }

  /**
   * Brings store and node together after a restart, publishes the agents of what goes on, and
   * begins to sweep. Once, before the first request.
   */
  public void start() {
    new SandboxReconciler(this, store, node, clock).run();
    sweeper.start();
  }

  /**
   * Makes a sandbox and returns when its agent can be reached.
   *
   * @throws ApiException {@code SERVICE_UNAVAILABLE} when it cannot be made; nothing is left then
   */
  public SandboxRecord create(Caller caller, NewSandbox wanted) {
    return create(caller, wanted, () -> false, (_, _) -> {});
  }

  /**
   * As {@link #create(Caller, NewSandbox)}.
   *
   * @param abandoned asked between steps; once true the rest is not done and all is undone
   * @param onStarted runs in the transaction that makes the sandbox visible
   */
  SandboxRecord create(
      Caller caller, NewSandbox wanted, BooleanSupplier abandoned, StartHook onStarted) {
    requireRoom(wanted);
    SandboxRecord planned = plan(caller, wanted);
    try {
      store.write(handle -> SandboxRows.insert(handle, planned));
    } catch (RuntimeException e) {
      ports.release(planned.agentPort());
      throw notMade(e);
    }
    try {
      Sandbox sandbox = node.create(spec(planned, wanted.template()));
      check(abandoned);
      Published published = publish(planned);
      check(abandoned);
      SandboxRecord started = markStarted(planned, published, sandbox, onStarted);
      sweeper.expiryChanged();
      log.info("Sandbox {} of {} is running", started.id(), started.templateName());
      return started;
    } catch (RuntimeException e) {
      undo(planned, e);
      throw e instanceof ApiException ? e : notMade(e);
    }
  }

  /**
   * A visible sandbox.
   *
   * @throws ApiException {@code RESOURCE_NOT_FOUND}, or {@code SANDBOX_EXPIRED} while the tombstone
   *     of an expired one is kept
   */
  public SandboxRecord get(Caller caller, String id) {
    SandboxRecord sandbox =
        store
            .read(handle -> SandboxRows.find(handle, caller.organizationId(), id))
            .orElseThrow(SandboxService::notFound);
    if (isExpired(sandbox)) {
      throw expired(sandbox);
    }
    if (!sandbox.status().isVisible()) {
      throw notFound();
    }
    return sandbox;
  }

  /** How strongly new sandboxes are separated. */
  public IsolationLevel isolation() {
    return node.isolation();
  }

  /** A visible sandbox of any organisation, for the agent's side. */
  public Optional<SandboxRecord> find(SandboxId id) {
    return store
        .read(handle -> SandboxRows.find(handle, id))
        .filter(sandbox -> sandbox.status().isVisible() && !isExpired(sandbox));
  }

  /** Visible sandboxes, newest first. */
  public Page list(Caller caller, SandboxFilter filter, Optional<SandboxCursor> after, int limit) {
    List<SandboxRecord> found =
        store.read(
            handle ->
                SandboxRows.page(
                    handle, caller.organizationId(), filter, after, clock.instant(), limit + 1));
    return found.size() > limit ? new Page(found.subList(0, limit), true) : new Page(found, false);
  }

  /**
   * Ends a sandbox. It is gone for everybody when this returns; should the node fail to remove all
   * of it, sweeps go on trying. A second time is no error while the tombstone is kept.
   *
   * @throws ApiException {@code RESOURCE_NOT_FOUND}
   */
  public void delete(Caller caller, String id) {
    SandboxRecord sandbox =
        store
            .read(handle -> SandboxRows.find(handle, caller.organizationId(), id))
            .filter(found -> found.status() != SandboxStatus.CREATING)
            .orElseThrow(SandboxService::notFound);
    beginEnd(
        sandbox.id(),
        handle -> SandboxRows.beginDeletion(handle, sandbox.id(), EndReason.DELETED, now()));
    remove(sandbox.id());
  }

  /**
   * Takes back a sandbox whose answer reached nobody (F13), and what was noted for a repetition.
   */
  void discard(SandboxRecord sandbox) {
    log.info("Sandbox {} is removed again: its client went away", sandbox.id());
    store.write(
        handle -> {
          IdempotencyRows.remove(handle, sandbox.id().value());
          return SandboxRows.beginDeletion(
              handle, sandbox.id(), EndReason.DELETED, clock.instant());
        });
    remove(sandbox.id());
  }

  /**
   * Sets the time a sandbox has from now on.
   *
   * @param timeoutSeconds empty for no expiry
   */
  public SandboxRecord changeTimeout(Caller caller, String id, OptionalLong timeoutSeconds) {
    SandboxRecord sandbox = get(caller, id);
    Instant now = now();
    boolean changed =
        store.write(
            handle ->
                SandboxRows.changeTimeout(
                    handle,
                    caller.organizationId(),
                    sandbox.id(),
                    timeoutSeconds,
                    expiry(now, timeoutSeconds),
                    now));
    SandboxRecord after = get(caller, id);
    if (!changed) {
      // It went between the two looks and came back: no such move exists.
      throw new ApiException(ErrorCode.CONFLICT, "The sandbox is changing; try again");
    }
    sweeper.expiryChanged();
    return after;
  }

  /** Pause, resume, stop and start. */
  SandboxLifecycle lifecycle() {
    return lifecycle;
  }

  Regions regions() {
    return regions;
  }

  /** Stops sweeping. The sandboxes go on. */
  @Override
  public void close() {
    sweeper.close();
  }

  /** Ends all whose time has come; one that was renewed in between is left alone. */
  void expire() {
    Instant now = now();
    for (SandboxRecord sandbox : store.read(handle -> SandboxRows.expired(handle, now))) {
      boolean begun;
      try {
        begun = store.write(handle -> SandboxRows.beginExpiry(handle, sandbox.id(), now));
      } catch (ApiException unwritable) {
        expireUnwritten(sandbox.id(), unwritable);
        continue;
      }
      if (begun) {
        log.info("Sandbox {} has expired", sandbox.id());
        closeEndpoint(sandbox.id());
        // Away from this thread: the next one must not expire late for it.
        Thread.ofVirtual().name("expire-" + sandbox.id()).start(() -> remove(sandbox.id()));
      }
    }
  }

  /** Ends a sandbox whose row cannot be changed now; each sweep tries to write it down. */
  private void expireUnwritten(SandboxId id, ApiException unwritable) {
    boolean renewed =
        store.read(handle -> SandboxRows.find(handle, id)).filter(this::isExpired).isEmpty();
    if (!renewed) {
      log.error("The end of sandbox {} cannot be written; its files go first", id, unwritable);
      closeEndpoint(id);
      node.delete(id);
    }
  }

  /** Goes on with removals that failed or were cut short. */
  void finishDeletions() {
    for (SandboxRecord sandbox :
        store.read(handle -> SandboxRows.withStatus(handle, SandboxStatus.DELETING))) {
      remove(sandbox.id());
    }
  }

  /** Forgets what is past its time. */
  void forget() {
    Instant now = now();
    store.write(
        handle ->
            SandboxRows.removeTombstones(handle, now.minus(TOMBSTONE))
                + IdempotencyRows.removeCreatedBefore(
                    handle, now.minus(CreateEndpoint.REMEMBERED)));
  }

  Optional<Instant> nextExpiry() {
    return store.read(SandboxRows::nextExpiry);
  }

  /** Publishes the agent of a sandbox found after a restart, on its port if it can be had. */
  void republish(SandboxRecord sandbox) {
    Published published = publish(sandbox);
    store.write(
        handle -> SandboxRows.setPublicHost(handle, sandbox.id(), published.publicHost(), now()));
    if (published.agentPort() != sandbox.agentPort()) {
      log.warn(
          "Port {} is in use by another program; sandbox {} moved to {}",
          sandbox.agentPort(),
          sandbox.id(),
          published.publicHost());
    }
  }

  /** Marks the ports of sandboxes that live as taken, before any is given out. */
  void reservePort(SandboxRecord sandbox) {
    ports.take(sandbox.agentPort());
  }

  boolean markFailed(SandboxId id) {
    return store.write(handle -> SandboxRows.fail(handle, id, now()));
  }

  /** Moves a visible sandbox to its end; returns when that is done, whoever began it. */
  void end(SandboxId id, EndReason reason) {
    store.write(handle -> SandboxRows.beginDeletion(handle, id, reason, now()));
    remove(id);
  }

  /**
   * Writes that a sandbox comes to its end. Where nothing can be written, mostly because the disk
   * is full, its own files go first: they may be what fills the disk, and there must be a way to
   * get rid of them.
   */
  private void beginEnd(SandboxId id, Function<Handle, Boolean> change) {
    try {
      store.write(change);
      return;
    } catch (ApiException unwritable) {
      log.error("The end of sandbox {} cannot be written; its files go first", id, unwritable);
    }
    closeEndpoint(id);
    node.delete(id);
    long deadline = System.nanoTime() + STORE_WAIT.toNanos();
    while (true) {
      try {
        store.write(change);
        return;
      } catch (ApiException unwritable) {
        if (System.nanoTime() - deadline > 0 || !slept(STORE_POLL)) {
          throw unwritable;
        }
      }
    }
  }

  /** False when the thread is to stop. */
  private static boolean slept(Duration duration) {
    try {
      Thread.sleep(duration);
      return true;
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private SandboxRecord plan(Caller caller, NewSandbox wanted) {
    Template template = wanted.template();
    SandboxId id = ids.next();
    Instant now = now();
    return new SandboxRecord(
        id,
        caller.organizationId(),
        SandboxStatus.CREATING,
        template.id(),
        template.name(),
        template.digest(),
        node.name(),
        wanted.region().orElse(regions.local()),
        template.resources(),
        wanted.internetAccess(),
        Optional.empty(),
        wanted.environment(),
        wanted.metadata(),
        takePort(),
        Optional.empty(),
        wanted.timeoutSeconds(),
        Optional.empty(),
        now,
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        now);
  }

  private static SandboxSpec spec(SandboxRecord planned, Template template) {
    Map<String, String> labels = new LinkedHashMap<>();
    labels.put("organization", Long.toString(planned.organizationId()));
    labels.put("template", template.id());
    return new SandboxSpec(
        planned.id(),
        template.name() + "@" + template.digest(),
        template
            .rootFileSystem()
            .orElseThrow(() -> new NodeException("Template " + template.name() + " is not built")),
        planned.resources(),
        planned.internetAccess(),
        labels);
  }

  /** Opens the sandbox's agent on its port or, where that cannot be had, on another. */
  private Published publish(SandboxRecord sandbox) {
    SandboxRecord candidate = sandbox;
    for (int attempt = 1; ; attempt++) {
      try {
        return new Published(candidate.agentPort(), endpoints.open(candidate));
      } catch (UncheckedIOException e) {
        if (attempt >= MAX_PORT_ATTEMPTS) {
          throw e;
        }
        log.debug("Port {} cannot be had", candidate.agentPort(), e);
        candidate = moveToAnotherPort(candidate);
      }
    }
  }

  private SandboxRecord moveToAnotherPort(SandboxRecord sandbox) {
    SandboxRecord moved = sandbox.withAgentPort(takePort());
    store.write(handle -> SandboxRows.setAgentPort(handle, moved.id(), moved.agentPort(), now()));
    // Not before the row has let go of it, or the next sandbox's row would clash with this one's.
    ports.release(sandbox.agentPort());
    return moved;
  }

  private SandboxRecord markStarted(
      SandboxRecord planned, Published published, Sandbox sandbox, StartHook onStarted) {
    Instant now = now();
    return store.write(
        handle -> {
          boolean started =
              SandboxRows.start(
                  handle,
                  planned.id(),
                  published.publicHost(),
                  sandbox.isolation().wireName(),
                  expiry(now, planned.timeoutSeconds()),
                  now);
          if (!started) {
            throw new IllegalStateException("Sandbox " + planned.id() + " is being removed");
          }
          SandboxRecord record = SandboxRows.find(handle, planned.id()).orElseThrow();
          onStarted.started(handle, record);
          return record;
        });
  }

  private void undo(SandboxRecord planned, RuntimeException cause) {
    try {
      beginEnd(planned.id(), handle -> SandboxRows.abandon(handle, planned.id(), now()));
      remove(planned.id());
    } catch (RuntimeException e) {
      // The row is still there: the next start of the server undoes the rest.
      cause.addSuppressed(e);
    }
  }

  /** Removes what is left of a sandbox that is being deleted; failures are logged and left. */
  private void remove(SandboxId id) {
    try (KeyedLocks.Held _ = removals.acquire(id.value())) {
      Optional<SandboxRecord> sandbox =
          store
              .read(handle -> SandboxRows.find(handle, id))
              .filter(found -> found.status() == SandboxStatus.DELETING);
      if (sandbox.isEmpty()) {
        return;
      }
      closeEndpoint(id);
      try {
        node.delete(id);
      } catch (RuntimeException e) {
        log.error("Sandbox {} could not be removed completely; this is tried again", id, e);
        return;
      }
      store.write(handle -> SandboxRows.finishDeletion(handle, id, now()));
      ports.release(sandbox.get().agentPort());
      log.info("Sandbox {} is gone", id);
    }
  }

  private void closeEndpoint(SandboxId id) {
    try {
      endpoints.close(id.value());
    } catch (RuntimeException e) {
      log.error("The endpoint of sandbox {} could not be closed", id, e);
    }
  }

  private int takePort() {
    return ports
        .take()
        .orElseThrow(
            () ->
                new ApiException(
                    ErrorCode.SERVICE_UNAVAILABLE,
                    "All "
                        + ports.size()
                        + " agent ports are in use; delete sandboxes, or configure a larger range"
                        + " (agent-ports)"));
  }

  private static void check(BooleanSupplier abandoned) {
    if (abandoned.getAsBoolean()) {
      throw new ApiException(
          ErrorCode.SERVICE_UNAVAILABLE, "The client went away; nothing was created");
    }
  }

  /** Most refusals come before anything is written; the node decides in the end. */
  private void requireRoom(NewSandbox wanted) {
    try {
      node.requireRoom(wanted.template().resources());
    } catch (NodeFullException full) {
      throw noRoom(full);
    }
  }

  /** What is short is the operator's to know, not the client's. */
  private static ApiException noRoom(NodeFullException full) {
    log.warn("A creation was refused: {}", full.getMessage());
    return new ApiException(
        ErrorCode.SERVICE_UNAVAILABLE,
        "Service unavailable: no available nodes; delete sandboxes or try again later",
        Map.of(ControlErrors.RETRY_AFTER_DETAIL, NO_ROOM_RETRY_SECONDS),
        full);
  }

  private static ApiException notMade(RuntimeException cause) {
    if (cause instanceof NodeFullException full) {
      return noRoom(full);
    }
    return new ApiException(
        ErrorCode.SERVICE_UNAVAILABLE,
        "The sandbox could not be made and nothing of it is left; the server's log says why",
        Map.of(),
        cause);
  }

  private static ApiException notFound() {
    return new ApiException(ErrorCode.RESOURCE_NOT_FOUND, "Sandbox not found");
  }

  private static ApiException expired(SandboxRecord sandbox) {
    Map<String, Object> details = new LinkedHashMap<>();
    details.put("sandbox_id", sandbox.id().value());
    details.put("created_at", Timestamps.format(sandbox.createdAt()));
    sandbox.expiresAt().ifPresent(at -> details.put("expires_at", Timestamps.format(at)));
    details.put("status", "expired");
    return new ApiException(ErrorCode.SANDBOX_EXPIRED, "Sandbox expired", details);
  }

  private boolean isExpired(SandboxRecord sandbox) {
    return switch (sandbox.status()) {
      case RUNNING, ERROR -> sandbox.isExpired(clock.instant());
      case DELETING, DELETED -> sandbox.endReason().equals(Optional.of(EndReason.EXPIRED));
      // The clock stands still in these (decision 10), and has not begun in the first.
      case CREATING, PAUSED, STOPPED -> false;
    };
  }

  private static Optional<Instant> expiry(Instant from, OptionalLong timeoutSeconds) {
    return timeoutSeconds.isPresent()
        ? Optional.of(from.plusSeconds(timeoutSeconds.getAsLong()))
        : Optional.empty();
  }

  private Instant now() {
    return clock.instant().truncatedTo(ChronoUnit.MILLIS);
  }

  /**
   * A part of a listing.
   *
   * @param hasMore true when older ones follow
   */
  public record Page(List<SandboxRecord> sandboxes, boolean hasMore) {
    public Page {
      sandboxes = List.copyOf(sandboxes);
    }
  }

  /** Joins the transaction that makes a sandbox visible. */
  @FunctionalInterface
  interface StartHook {
    void started(Handle handle, SandboxRecord sandbox);
  }

  /** Where the agent of a sandbox is reached. */
  private record Published(int agentPort, String publicHost) {}
}
