package dev.hopx.control;

import dev.hopx.node.Node;
import dev.hopx.node.Sandbox;
import java.time.InstantSource;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes store and node agree after a restart. What both have goes on; what was being made or
 * removed is removed; what the node lost is marked so; what only the node has goes, for nobody can
 * ask for it.
 */
final class SandboxReconciler {
  private static final Logger log = LoggerFactory.getLogger(SandboxReconciler.class);

  private final SandboxService service;
  private final Store store;
  private final Node node;
  private final InstantSource clock;

  SandboxReconciler(SandboxService service, Store store, Node node, InstantSource clock) {
    this.service = service;
    this.store = store;
    this.node = node;
    this.clock = clock;
  }

  void run() {
    List<SandboxRecord> known = store.read(SandboxRows::notDeleted);
    known.forEach(service::reservePort);
    Set<String> claimed = new HashSet<>();
    for (SandboxRecord record : known) {
      claimed.add(record.id().value());
      reconcile(record);
    }
    service.finishDeletions();
    for (Sandbox sandbox : node.list()) {
      if (!claimed.contains(sandbox.id().value())) {
        log.warn("Sandbox {} is in no record and is removed", sandbox.id());
        deleteStray(sandbox);
      }
    }
  }

  private void reconcile(SandboxRecord record) {
    switch (record.status()) {
      case CREATING ->
          store.write(handle -> SandboxRows.abandon(handle, record.id(), clock.instant()));
      case RUNNING, PAUSED, STOPPED, ERROR -> adopt(record);
      case DELETING, DELETED -> {}
    }
  }

  private void adopt(SandboxRecord record) {
    Optional<Sandbox> sandbox = node.find(record.id());
    if (sandbox.isEmpty()) {
      log.warn("Sandbox {} is lost: its node does not have it any more", record.id());
      service.end(record.id(), EndReason.LOST);
      return;
    }
    // Before anybody can reach it: a move that was cut short is finished or taken back.
    service.lifecycle().converge(record.id());
    try {
      service.republish(record);
    } catch (RuntimeException e) {
      // One sandbox that cannot be reached must not keep the server from serving the others.
      log.error("The agent of sandbox {} cannot be published", record.id(), e);
      service.markFailed(record.id());
    }
  }

  private void deleteStray(Sandbox sandbox) {
    try {
      node.delete(sandbox.id());
    } catch (RuntimeException e) {
      log.error("Sandbox {} could not be removed; the next start tries again", sandbox.id(), e);
    }
  }
}
