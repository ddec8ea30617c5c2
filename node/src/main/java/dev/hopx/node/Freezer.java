package dev.hopx.node;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Freezes a control group with all below it, by the files of version 1's freezer hierarchy or of
 * version 2. Open sockets, memory and the groups' own frozen or thawed children stay as they are.
 *
 * @param group in the version 2 hierarchy, or in that of the version 1 freezer
 */
record Freezer(Path group) {
  /** Processes in the middle of a slow system call (a disk that hangs) are waited for so long. */
  static final Duration LIMIT = Duration.ofSeconds(5);

  private static final Duration FIRST_PAUSE = Duration.ofNanos(100_000);
  private static final Duration LONGEST_PAUSE = Duration.ofMillis(5);

  /**
   * Returns when nothing in the group runs any more.
   *
   * @throws NodeException when a process cannot be frozen; all run on then
   */
  void freeze() {
    boolean frozen = false;
    try {
      long deadline = System.nanoTime() + LIMIT.toNanos();
      long pause = FIRST_PAUSE.toNanos();
      request(true);
      while (!isDone()) {
        if (System.nanoTime() - deadline > 0) {
          throw new NodeException(
              "A process in "
                  + group
                  + " could not be frozen within "
                  + LIMIT.toSeconds()
                  + " s; it hangs in the kernel");
        }
        Thread.sleep(Duration.ofNanos(pause));
        pause = Math.min(pause * 2, LONGEST_PAUSE.toNanos());
        if (!isUnified()) {
          // Version 1 looks for processes that came meanwhile only when it is told again.
          request(true);
        }
      }
      frozen = true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new NodeException("Interrupted while freezing " + group, e);
    } finally {
      if (!frozen) {
        thaw();
      }
    }
  }

  /** Lets all run on; nothing to do for a group that is not frozen or does not exist. */
  void thaw() {
    request(false);
  }

  /** True from the moment it was asked for. */
  boolean isRequested() {
    Path file = group.resolve(isUnified() ? "cgroup.freeze" : "freezer.self_freezing");
    return Files.exists(file) && ControlGroupFiles.readText(file).equals("1");
  }

  /** True when a group above is frozen, so that nothing in here can be thawed. */
  static boolean isFrozenFromAbove(Path group) {
    Path file = group.resolve("freezer.parent_freezing");
    return Files.exists(file) && ControlGroupFiles.readText(file).equals("1");
  }

  private void request(boolean frozen) {
    if (isUnified()) {
      ControlGroupFiles.writeIfPresent(group.resolve("cgroup.freeze"), frozen ? "1" : "0");
    } else {
      ControlGroupFiles.writeIfPresent(
          group.resolve("freezer.state"), frozen ? "FROZEN" : "THAWED");
    }
  }

  private boolean isDone() {
    return isUnified()
        ? ControlGroupFiles.readText(group.resolve("cgroup.events")).contains("frozen 1")
        : ControlGroupFiles.readText(group.resolve("freezer.state")).equals("FROZEN");
  }

  private boolean isUnified() {
    return Files.exists(group.resolve("cgroup.freeze"));
  }
}
