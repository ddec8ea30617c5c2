package dev.hopx.node;

import dev.hopx.channel.Guest;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** A sandbox of this machine. */
public interface Sandbox {
  SandboxId id();

  SandboxSpec spec();

  IsolationLevel isolation();

  Instant created();

  SandboxState state();

  /** How long it has been paused since its start, with a pause that goes on. */
  Duration pausedTime();

  /** Its inside. Calls fail with {@code LOST} once the sandbox is gone, or stopped. */
  Guest guest();

  /** False once its process 1 has ended, also by a stop, or it was deleted. */
  boolean isAlive();

  /** Directory (0700) on the host whose files live as long as the sandbox, across restarts. */
  Path stateDirectory();

  /**
   * Processes started with {@code keep} under an earlier server, found again by this one. Whoever
   * takes one closes it in the end.
   */
  default List<KeptProcess> keptProcesses() {
    return List.of();
  }

  /** Bytes of memory charged to the sandbox now. */
  long memoryBytes();

  /**
   * Processes that the kernel has killed so far because the sandbox's memory was at its limit; 0
   * once the sandbox is gone.
   */
  default long memoryKills() {
    return 0;
  }
}
