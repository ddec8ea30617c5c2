package dev.hopx.node;

import java.util.List;
import java.util.Optional;

/**
 * The sandboxes of one machine. An interface so that it can be remote one day. Thread-safe; every
 * method may block and is meant for virtual threads.
 */
public interface Node extends AutoCloseable {
  /** Name of the node, a DNS label. */
  String name();

  /** How strongly the sandboxes it makes are separated. */
  IsolationLevel isolation();

  /**
   * Makes a sandbox and returns when its process 1 answers. Half-made sandboxes leave nothing
   * behind.
   *
   * @throws NodeException when it cannot be made
   */
  Sandbox create(SandboxSpec spec);

  Optional<Sandbox> find(SandboxId id);

  List<Sandbox> list();

  /** Ends the sandbox and removes everything it had. Idempotent; unknown ids are no error. */
  void delete(SandboxId id);

  /** Stops managing; sandboxes go on running and are adopted by the next server. */
  @Override
  void close();
}
