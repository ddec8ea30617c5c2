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
   * Asks before anything is made or noted whether a creation would be refused now; {@link #create}
   * decides.
   *
   * @throws NodeFullException when there is no room
   */
  default void requireRoom(Resources resources) {}

  /**
   * Makes a sandbox and returns when its process 1 answers. Half-made sandboxes leave nothing
   * behind.
   *
   * @throws NodeException when it cannot be made
   * @throws NodeFullException when there is no room for it; nothing was tried then
   */
  Sandbox create(SandboxSpec spec);

  Optional<Sandbox> find(SandboxId id);

  List<Sandbox> list();

  /** Ends the sandbox and removes everything it had. Idempotent; unknown ids are no error. */
  void delete(SandboxId id);

  /**
   * Freezes all processes of a running sandbox where they are and returns when none runs any more.
   * One that is paused is left as it is.
   *
   * @throws NodeException when it cannot be frozen (it runs on then), is stopped, has ended or is
   *     not here
   */
  void pause(SandboxId id);

  /**
   * Lets a paused sandbox go on. One that runs is left as it is.
   *
   * @throws NodeException when it is stopped, has ended or is not here
   */
  void resume(SandboxId id);

  /**
   * Ends the processes of a sandbox (SIGTERM, a grace, SIGKILL) and keeps its files, identity,
   * address and state directory. One that is stopped is left as it is. What was {@link #find found}
   * before stays stopped for good; look again after {@link #start}.
   *
   * @throws NodeException when it is not here, or something of it could not be taken down: calling
   *     again goes on with it
   */
  void stop(SandboxId id);

  /**
   * Boots a stopped sandbox and returns when its process 1 answers. One that runs is left as it is.
   *
   * @throws NodeException when it cannot be started; it stays stopped then
   */
  Sandbox start(SandboxId id);

  /** Stops managing; sandboxes go on running and are adopted by the next server. */
  @Override
  void close();
}
