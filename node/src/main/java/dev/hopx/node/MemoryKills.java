package dev.hopx.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The kernel's count of processes it killed for want of memory in a control group. */
final class MemoryKills {
  private static final String KILLS = "oom_kill ";

  private MemoryKills() {}

  /**
   * @param file {@code memory.events} or {@code memory.oom_control}
   * @return 0 also for a group that is gone, or a kernel before 4.13, which does not count
   */
  static long read(Path file) {
    try {
      return parse(Files.readAllLines(file));
    } catch (IOException _) {
      return 0;
    }
  }

  static long parse(List<String> lines) {
    for (String line : lines) {
      if (line.startsWith(KILLS)) {
        return Long.parseLong(line.substring(KILLS.length()).strip());
      }
    }
    return 0;
  }
}
