package dev.hopx.agent;

import dev.hopx.channel.Guest;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;

/**
 * The sandbox that an agent speaks for, as the server's wiring gives it. Thread-safe; every method
 * may be asked again at any time.
 */
public interface AgentSandbox {
  String id();

  String templateName();

  String region();

  /** Isolation as the sandbox's record states it, e.g. {@code container}. */
  String isolation();

  Instant createdAt();

  Resources resources();

  /**
   * Processes that were killed so far because the sandbox's memory was at its limit; where nobody
   * counts them, 0.
   */
  default long memoryKills() {
    return 0;
  }

  /** The inside of the sandbox. */
  Guest guest();

  /** Directory on the host for the agent's own state of this sandbox; it goes with the sandbox. */
  Path stateDirectory();

  /** The template's variables; they count as system variables. */
  Map<String, String> templateEnvironment();

  /** Variables given when the sandbox was created: what {@code /env} starts with. */
  Map<String, String> creationEnvironment();

  /** Variables the platform needs inside (certificates); never shown by {@code /env}. */
  Map<String, String> platformEnvironment();

  /** Whether {@code token} opens this sandbox. Compares in constant time. */
  boolean opens(String token);

  /** False once the sandbox is deleted or broken; one that is paused or stopped is alive. */
  boolean isAlive();

  /** While true nothing inside runs or answers. */
  default boolean isPaused() {
    return false;
  }

  /** While true there is nothing inside that could run; it can be started again. */
  default boolean isStopped() {
    return false;
  }

  /** How long it has been paused since its start, with a pause that goes on. */
  default Duration pausedTime() {
    return Duration.ZERO;
  }

  /** What the sandbox may use. */
  record Resources(int vcpus, int memoryMib, int diskMib) {}
}
