package dev.hopx.node;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * How this host mounts its control groups.
 *
 * @param unified true: one version 2 hierarchy; false: version 1
 * @param controllers mount point of each version 1 controller; empty for version 2
 * @param roots mount points of all hierarchies a process is in
 * @param hidden where a runtime may leave plain directories beside the hierarchies; see {@link
 *     #detect}
 */
record ControlGroupLayout(
    boolean unified, Map<String, Path> controllers, List<Path> roots, List<Path> hidden) {
  private static final Path STANDARD = Path.of("/sys/fs/cgroup");
  private static final List<String> NEEDED = List.of("memory", "cpu", "pids", "freezer");

  /**
   * @throws NodeException when the layout cannot be used; the message says how to mend it
   */
  static ControlGroupLayout detect(MountTable mounts) {
    Map<String, Path> controllers = new HashMap<>();
    List<Path> roots = new ArrayList<>();
    List<Path> versionTwo = new ArrayList<>();
    for (MountTable.Entry entry : mounts.entries()) {
      if (entry.type().equals("cgroup2")) {
        versionTwo.add(entry.mountPoint());
      } else if (entry.type().equals("cgroup")) {
        roots.add(entry.mountPoint());
        for (String option : entry.fileSystemOptions()) {
          controllers.putIfAbsent(option, entry.mountPoint());
        }
      }
    }
    if (roots.isEmpty() && versionTwo.isEmpty()) {
      throw new NodeException("No control groups are mounted; mount cgroup2 on /sys/fs/cgroup");
    }
    if (roots.isEmpty()) {
      return unified(versionTwo);
    }
    for (Path mount : versionTwo) {
      String held = ControlGroupFiles.readText(mount.resolve("cgroup.controllers"));
      if (!held.isEmpty()) {
        throw new NodeException(
            ("The control groups are in the hybrid layout: %s holds the controllers \"%s\", and"
                    + " crun refuses to start containers then. Start the server with ./hopx up,"
                    + " which hides that mount from it, or run it in a mount namespace of its own"
                    + " (unshare --mount --propagation private) in which %s is unmounted.")
                .formatted(mount, held, mount));
      }
      roots.add(mount);
    }
    for (String controller : NEEDED) {
      if (!controllers.containsKey(controller)) {
        throw new NodeException(
            "The control group controller "
                + controller
                + " is not mounted; enable it in the kernel and mount it");
      }
    }
    // crun goes by /proc/self/cgroup, which names the version 2 hierarchy also where its mount is
    // hidden, and makes plain directories at the place where it should be.
    List<Path> hidden =
        versionTwo.isEmpty() ? List.of(roots.getFirst().resolveSibling("unified")) : List.of();
    return new ControlGroupLayout(false, Map.copyOf(controllers), List.copyOf(roots), hidden);
  }

  private static ControlGroupLayout unified(List<Path> mounts) {
    // Others mount the one hierarchy at places of their own as well; crun looks at one only.
    Path root = mounts.contains(STANDARD) ? STANDARD : mounts.getFirst();
    List<String> missing = new ArrayList<>(ControllerSwitch.NEEDED);
    missing.removeAll(
        ControllerSwitch.words(ControlGroupFiles.readText(root.resolve("cgroup.controllers"))));
    if (!missing.isEmpty()) {
      throw new NodeException(
          ("The control group hierarchy in %s lacks the controllers %s; look for"
                  + " cgroup_disable= on the kernel's command line (add cgroup_enable=memory where"
                  + " memory is off by default) and start the machine anew")
              .formatted(root, missing));
    }
    return new ControlGroupLayout(true, Map.of(), List.of(root), List.of());
  }

  /** Everywhere where something of a sandbox's control groups may lie. */
  List<Path> places() {
    List<Path> places = new ArrayList<>(roots);
    places.addAll(hidden);
    return places;
  }
}
