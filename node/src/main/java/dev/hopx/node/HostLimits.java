package dev.hopx.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Hard limits of this process, which nothing it starts can exceed.
 *
 * @param openFiles file descriptors a process may have
 */
record HostLimits(long openFiles) {
  private static final String OPEN_FILES = "Max open files";

  static HostLimits read() {
    try {
      return parse(Files.readAllLines(Path.of("/proc/self/limits")));
    } catch (IOException e) {
      throw new NodeException("Cannot read /proc/self/limits; is /proc mounted?", e);
    }
  }

  static HostLimits parse(List<String> lines) {
    for (String line : lines) {
      if (line.startsWith(OPEN_FILES)) {
        String hard = line.substring(OPEN_FILES.length()).strip().split("\\s+")[1];
        return new HostLimits(hard.equals("unlimited") ? Long.MAX_VALUE : Long.parseLong(hard));
      }
    }
    throw new NodeException("/proc/self/limits does not name the limit of open files");
  }
}
