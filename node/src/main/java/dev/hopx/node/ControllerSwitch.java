package dev.hopx.node;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Which controllers a version 2 group gives to the groups below it. */
final class ControllerSwitch {
  /** What limits sandboxes; killing and freezing need no controller. */
  static final List<String> NEEDED = List.of("memory", "cpu", "pids");

  private static final String FILE = "cgroup.subtree_control";

  private ControllerSwitch() {}

  /**
   * Gives the needed controllers to the groups below {@code group}.
   *
   * @throws NodeException when the kernel refuses, which is before anything is changed
   */
  static void enable(Path group) {
    Path file = group.resolve(FILE);
    List<String> enabled = words(ControlGroupFiles.readText(file));
    List<String> missing = new ArrayList<>(NEEDED);
    missing.removeAll(enabled);
    if (missing.isEmpty()) {
      // Even a write that changes nothing waits until the kernel is done with every group that was
      // removed below: a creation would wait for the deletions of others.
      return;
    }
    ControlGroupFiles.write(
        file, String.join(" ", missing.stream().map(controller -> "+" + controller).toList()));
  }

  /**
   * As {@link #enable} for the root of the hierarchy, where a refusal has a cause that the user can
   * mend.
   */
  static void enableRoot(Path root) {
    try {
      enable(root);
    } catch (NodeException e) {
      throw new NodeException(
          ("The controllers %s cannot be enabled in %s (%s). In a container, where the host's"
                  + " control groups are out of sight, move its processes to a group below first"
                  + " (mkdir %s/init; every pid of cgroup.procs into init/cgroup.procs), or start"
                  + " the server on the host itself.")
              .formatted(NEEDED, root, e.getMessage(), root),
          e);
    }
  }

  static List<String> words(String text) {
    return text.isEmpty() ? List.of() : List.of(text.split(" "));
  }
}
