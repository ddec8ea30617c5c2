package dev.hopx.node;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * Kills every process of a control group and of those below it, also one that forks as fast as it
 * can: version 2 has a switch for it; version 1 freezes, signals and thaws. In a paused sandbox the
 * dead of version 1 leave only when it goes on, without having done anything more. To be called on
 * a thread that nobody interrupts.
 */
final class GroupKiller {
  private static final Duration FREEZE_WAIT = Duration.ofMillis(200);
  private static final Duration LONGEST_PAUSE = Duration.ofMillis(20);

  private GroupKiller() {}

  /**
   * @param group directory in the version 2 hierarchy, or in that of the version 1 freezer
   * @throws NodeException when processes are left after {@code limit}
   */
  static void kill(Path group, Duration limit) {
    long deadline = System.nanoTime() + limit.toNanos();
    long pause = 500_000;
    while (!ControlGroupFiles.processes(group).isEmpty()) {
      if (System.nanoTime() - deadline > 0) {
        throw new NodeException(
            "Processes "
                + ControlGroupFiles.processes(group)
                + " in "
                + group
                + " live on "
                + limit.toMillis()
                + " ms after SIGKILL; they hang in the kernel");
      }
      killOnce(group);
      if (Freezer.isFrozenFromAbove(group)) {
        return;
      }
      sleep(pause);
      pause = Math.min(pause * 2, LONGEST_PAUSE.toNanos());
    }
  }

  private static void killOnce(Path group) {
    Path killSwitch = group.resolve("cgroup.kill");
    if (Files.exists(killSwitch)) {
      ControlGroupFiles.write(killSwitch, "1");
      return;
    }
    Path state = group.resolve("freezer.state");
    try {
      ControlGroupFiles.writeIfPresent(state, "FROZEN");
      awaitFrozen(state);
      signalAll(ControlGroupFiles.processes(group));
    } finally {
      ControlGroupFiles.writeIfPresent(state, "THAWED");
    }
  }

  /** Waits a little only: whoever cannot be frozen gets the signal all the same. */
  private static void awaitFrozen(Path state) {
    long deadline = System.nanoTime() + FREEZE_WAIT.toNanos();
    while (Files.exists(state)
        && !ControlGroupFiles.readText(state).equals("FROZEN")
        && System.nanoTime() - deadline < 0) {
      sleep(500_000);
    }
  }

  private static void signalAll(List<Long> processes) {
    for (long process : processes) {
      ProcessHandle.of(process).ifPresent(ProcessHandle::destroyForcibly);
    }
  }

  private static void sleep(long nanos) {
    try {
      Thread.sleep(Duration.ofNanos(nanos));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new NodeException("Interrupted while killing processes", e);
    }
  }
}
