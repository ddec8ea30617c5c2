package dev.hopx.node;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The control group of one execution, in each hierarchy where it has one; the first one kills. */
record ExecutionGroup(List<Path> paths) {
  private static final Duration KILL_LIMIT = Duration.ofSeconds(10);
  private static final Pattern NAME = Pattern.compile("x([0-9]{1,18})");

  static String name(long number) {
    return "x" + number;
  }

  static OptionalLong number(String name) {
    Matcher matcher = NAME.matcher(name);
    return matcher.matches()
        ? OptionalLong.of(Long.parseLong(matcher.group(1)))
        : OptionalLong.empty();
  }

  void make() {
    paths.forEach(ControlGroupFiles::make);
  }

  void add(long hostPid) {
    for (Path path : paths) {
      ControlGroupFiles.write(path.resolve(ControlGroupFiles.PROCESSES), Long.toString(hostPid));
    }
  }

  /** Returns when all that is in the group is dead. */
  void kill() {
    GroupKiller.kill(paths.getFirst(), KILL_LIMIT);
  }

  /** Removes the group unless something lives in it; true when it is gone. */
  boolean removeIfEmpty() {
    boolean removed = true;
    for (Path path : paths) {
      removed &= ControlGroupFiles.remove(path);
    }
    return removed;
  }
}
