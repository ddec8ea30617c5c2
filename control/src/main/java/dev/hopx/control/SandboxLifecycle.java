package dev.hopx.control;

import static java.util.Objects.requireNonNull;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.node.Node;
import dev.hopx.node.NodeException;
import dev.hopx.node.Sandbox;
import dev.hopx.node.SandboxId;
import dev.hopx.node.SandboxState;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jdbi.v3.core.Handle;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Pause, resume, stop and start (LIF-23, decisions 10 and 11). One move of a sandbox at a time;
 * each is synchronous, and nothing to do for a sandbox that is there already.
 *
 * <p>A sandbox that moves is known by the lesser of its two states: a pause or stop is written down
 * before the node is asked, a resume or start after it has done it. So the row is always what a
 * server that was killed in between has to enforce, which {@link #converge} does.
 */
final class SandboxLifecycle {
  private static final Logger log = LoggerFactory.getLogger(SandboxLifecycle.class);

  private final SandboxService service;
  private final Store store;
  private final Node node;
  private final InstantSource clock;
  private final Runnable expiryChanged;
  private final KeyedLocks moves = new KeyedLocks();

  /**
   * @param expiryChanged called when a clock goes on
   */
  SandboxLifecycle(
      SandboxService service, Store store, Node node, InstantSource clock, Runnable expiryChanged) {
    this.service = requireNonNull(service);
    this.store = requireNonNull(store);
    this.node = requireNonNull(node);
    this.clock = requireNonNull(clock);
    this.expiryChanged = requireNonNull(expiryChanged);
  }

  /**
   * Freezes a running sandbox.
   *
   * @throws ApiException {@code CONFLICT} unless it runs or is paused; {@code SERVICE_UNAVAILABLE}
   *     when it cannot be frozen, it runs on then
   */
  SandboxRecord pause(Caller caller, String id) {
    service.get(caller, id);
    try (KeyedLocks.Held _ = moves.acquire(id)) {
      SandboxRecord before = service.get(caller, id);
      switch (before.status()) {
        case PAUSED -> {
          return before;
        }
        case RUNNING -> halt(caller, before, SandboxStatus.PAUSED);
        case STOPPED, ERROR, CREATING, DELETING, DELETED ->
            throw senseless("pause", before, "only a running sandbox can be paused");
      }
      try {
        node.pause(before.id());
      } catch (NodeException e) {
        log.warn("Sandbox {} could not be paused and runs on", before.id(), e);
        store.write(handle -> LifecycleRows.resume(handle, before.id(), now()));
        expiryChanged.run();
        service.get(caller, id);
        throw failed("The sandbox could not be paused and runs on", e);
      }
      return service.get(caller, id);
    }
  }

  /**
   * Makes a paused sandbox go on.
   *
   * @throws ApiException {@code CONFLICT} unless it is paused or runs
   */
  SandboxRecord resume(Caller caller, String id) {
    service.get(caller, id);
    try (KeyedLocks.Held _ = moves.acquire(id)) {
      SandboxRecord before = service.get(caller, id);
      switch (before.status()) {
        case RUNNING -> {
          return before;
        }
        case PAUSED -> {}
        case STOPPED -> throw senseless("resume", before, "start it instead");
        case ERROR, CREATING, DELETING, DELETED ->
            throw senseless("resume", before, "only a paused sandbox can be resumed");
      }
      try {
        node.resume(before.id());
      } catch (NodeException e) {
        log.warn("Sandbox {} could not be resumed", before.id(), e);
        service.get(caller, id);
        throw failed("The sandbox could not be resumed", e);
      }
      boolean moved = store.write(handle -> LifecycleRows.resume(handle, before.id(), now()));
      return went(caller, before, moved);
    }
  }

  /**
   * Ends the processes of a running sandbox and keeps its files. Takes as long as they need to end,
   * up to the node's grace.
   *
   * @throws ApiException {@code CONFLICT} unless it runs or is stopped; {@code SERVICE_UNAVAILABLE}
   *     when the node could not end all of it, which is tried again
   */
  SandboxRecord stop(Caller caller, String id) {
    service.get(caller, id);
    try (KeyedLocks.Held _ = moves.acquire(id)) {
      SandboxRecord before = service.get(caller, id);
      switch (before.status()) {
        case STOPPED -> {}
        case RUNNING -> halt(caller, before, SandboxStatus.STOPPED);
        case PAUSED -> throw senseless("stop", before, "resume it first");
        case ERROR, CREATING, DELETING, DELETED ->
            throw senseless("stop", before, "only a running sandbox can be stopped");
      }
      try {
        node.stop(before.id());
      } catch (NodeException e) {
        log.warn("Sandbox {} could not be stopped entirely; this is tried again", before.id(), e);
        service.get(caller, id);
        throw failed("The sandbox is stopped, but not all of it could be taken down yet", e);
      }
      return service.get(caller, id);
    }
  }

  /**
   * Boots a stopped sandbox; its agent answers when this returns.
   *
   * @throws ApiException {@code CONFLICT} unless it is stopped or runs; {@code SERVICE_UNAVAILABLE}
   *     when it cannot be started, it stays stopped then
   */
  SandboxRecord start(Caller caller, String id) {
    service.get(caller, id);
    try (KeyedLocks.Held _ = moves.acquire(id)) {
      SandboxRecord before = service.get(caller, id);
      switch (before.status()) {
        case RUNNING -> {
          return before;
        }
        case STOPPED -> {}
        case PAUSED -> throw senseless("start", before, "resume it instead");
        case ERROR, CREATING, DELETING, DELETED ->
            throw senseless("start", before, "only a stopped sandbox can be started");
      }
      try {
        node.start(before.id());
      } catch (NodeException e) {
        log.error("Sandbox {} could not be started", before.id(), e);
        service.get(caller, id);
        throw failed("The sandbox could not be started and stays stopped", e);
      }
      boolean moved = store.write(handle -> LifecycleRows.start(handle, before.id(), now()));
      return went(caller, before, moved);
    }
  }

  /**
   * Makes the node's sandboxes be what their rows say, where a failure or the end of a server left
   * them otherwise, and notices those that ended by themselves. Sandboxes somebody is moving right
   * now are left alone.
   */
  void converge() {
    for (SandboxStatus status :
        List.of(SandboxStatus.RUNNING, SandboxStatus.PAUSED, SandboxStatus.STOPPED)) {
      for (SandboxRecord record : store.read(handle -> SandboxRows.withStatus(handle, status))) {
        if (!agrees(record)) {
          converge(record.id());
        }
      }
    }
  }

  /** As {@link #converge()}, for one sandbox. */
  void converge(SandboxId id) {
    try {
      moves.tryAcquire(id.value(), Duration.ZERO).ifPresent(held -> converge(id, held));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (NodeException e) {
      log.error("Sandbox {} is not yet what it should be; this is tried again", id, e);
    }
  }

  private void converge(SandboxId id, KeyedLocks.Held held) {
    try (held) {
      // Read again: what was seen before it was held may be over.
      service.find(id).filter(record -> !agrees(record)).ifPresent(this::enforce);
    }
  }

  private boolean agrees(SandboxRecord record) {
    Optional<SandboxState> state = node.find(record.id()).map(Sandbox::state);
    return switch (record.status()) {
      case RUNNING -> state.equals(Optional.of(SandboxState.RUNNING));
      case PAUSED -> state.equals(Optional.of(SandboxState.PAUSED));
      case STOPPED -> state.equals(Optional.of(SandboxState.STOPPED));
      case CREATING, ERROR, DELETING, DELETED -> true;
    };
  }

  private void enforce(SandboxRecord record) {
    SandboxId id = record.id();
    Optional<Sandbox> sandbox = node.find(id);
    if (sandbox.isEmpty()) {
      log.warn("Sandbox {} is lost: its node does not have it any more", id);
      service.end(id, EndReason.LOST);
      return;
    }
    log.info("Sandbox {} is made {}", id, record.status().wireName());
    switch (record.status()) {
      case STOPPED -> node.stop(id);
      case PAUSED, RUNNING -> {
        switch (sandbox.get().state()) {
          case ENDED -> {
            log.warn("Sandbox {} ended by itself", id);
            service.markFailed(id);
          }
          // Nobody asked for it, but its files are there: so it can be started again.
          case STOPPED -> store.write(handle -> noteStopped(handle, record));
          case RUNNING -> node.pause(id);
          case PAUSED -> node.resume(id);
        }
      }
      case CREATING, ERROR, DELETING, DELETED -> {}
    }
  }

  private boolean noteStopped(Handle handle, SandboxRecord record) {
    Instant now = now();
    if (record.status() == SandboxStatus.PAUSED) {
      LifecycleRows.resume(handle, record.id(), now);
    }
    return LifecycleRows.halt(handle, record.id(), SandboxStatus.STOPPED, now);
  }

  private void halt(Caller caller, SandboxRecord before, SandboxStatus target) {
    boolean moved = store.write(handle -> LifecycleRows.halt(handle, before.id(), target, now()));
    if (!moved) {
      throw overtaken(caller, before);
    }
  }

  private SandboxRecord went(Caller caller, SandboxRecord before, boolean moved) {
    if (!moved) {
      throw overtaken(caller, before);
    }
    expiryChanged.run();
    return service.get(caller, before.id().value());
  }

  /** It was deleted, expired or broke in the meantime. */
  private ApiException overtaken(Caller caller, SandboxRecord before) {
    SandboxRecord present = service.get(caller, before.id().value());
    return new ApiException(
        ErrorCode.CONFLICT,
        "The sandbox changed meanwhile and is " + present.status().wireName() + "; try again",
        Map.of("status", present.status().wireName()));
  }

  private static ApiException senseless(String move, SandboxRecord sandbox, String advice) {
    String status = sandbox.status().wireName();
    return new ApiException(
        ErrorCode.CONFLICT,
        "Cannot " + move + ": the sandbox is " + status + "; " + advice,
        Map.of("status", status));
  }

  private static ApiException failed(String text, NodeException cause) {
    return new ApiException(
        ErrorCode.SERVICE_UNAVAILABLE, text + "; the server's log says why", Map.of(), cause);
  }

  private Instant now() {
    return clock.instant().truncatedTo(ChronoUnit.MILLIS);
  }
}
