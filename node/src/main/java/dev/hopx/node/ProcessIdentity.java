package dev.hopx.node;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * A process, safe against the reuse of its number.
 *
 * @param startTime clock ticks after boot, as in {@code /proc/PID/stat}
 */
record ProcessIdentity(long pid, long startTime) {
  private static final int STATE_FIELD = 0;
  private static final int START_TIME_FIELD = 19;

  /** The process that has this number now; empty when there is none. */
  static Optional<ProcessIdentity> of(long pid) {
    return stat(pid).map(fields -> new ProcessIdentity(pid, startTime(fields)));
  }

  /** A zombie is not alive. */
  boolean isAlive() {
    Optional<String[]> fields = stat(pid);
    return fields.isPresent()
        && startTime(fields.get()) == startTime
        && !fields.get()[STATE_FIELD].equals("Z")
        && !fields.get()[STATE_FIELD].equals("X");
  }

  void kill() {
    if (isAlive()) {
      ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
    }
  }

  private static long startTime(String[] fields) {
    return Long.parseLong(fields[START_TIME_FIELD]);
  }

  /** The fields behind the program's name, which may itself hold spaces and parentheses. */
  private static Optional<String[]> stat(long pid) {
    try {
      String text =
          Files.readString(Path.of("/proc/" + pid + "/stat"), StandardCharsets.ISO_8859_1);
      String[] fields = text.substring(text.lastIndexOf(')') + 2).split(" ");
      return fields.length > START_TIME_FIELD ? Optional.of(fields) : Optional.empty();
    } catch (IOException | IndexOutOfBoundsException _) {
      return Optional.empty();
    }
  }
}
