package dev.hopx.template;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds, in what a failed build printed, the cause a user can act on. Not thread-safe.
 *
 * <p>It reads along with the build and remembers only the causes and the last lines.
 */
final class BuildFailure {
  private static final int LAST_LINES = 12;
  private static final int MAX_CAUSES = 8;
  private static final Pattern NO_SPACE =
      Pattern.compile("No space left on device|You don't have enough free space in");
  private static final Pattern UNKNOWN_PACKAGE =
      Pattern.compile(
          "^E: (?:Unable to locate package (\\S+)"
              + "|Package '([^']+)' has no installation candidate)");
  private static final Pattern FAILED_DOWNLOAD =
      Pattern.compile("^E: Failed to fetch \\S*/([^/_\\s]+)_\\S+\\.deb\\s+(.*)$");
  private static final Pattern FAILED_LIST =
      Pattern.compile("^(?:E|W|Err): ?Failed to fetch (\\S+)\\s+(.*)$");
  private static final Pattern FAILED_PACKAGE =
      Pattern.compile("^(?:dpkg: error processing (?:package|archive) (\\S+) )");
  private static final Pattern UNSIGNED =
      Pattern.compile("NO_PUBKEY|is not signed|Missing key|signatures couldn't be verified");
  private static final Pattern EXPIRED =
      Pattern.compile("Release file for (\\S+) is (expired|not valid yet)");

  private final Set<String> causes = new LinkedHashSet<>();
  private final Deque<String> last = new ArrayDeque<>();
  private boolean full;

  void accept(String line) {
    if (last.size() == LAST_LINES) {
      last.removeFirst();
    }
    last.addLast(line);
    if (NO_SPACE.matcher(line).find()) {
      full = true;
      return;
    }
    String cause = cause(line);
    if (!cause.isEmpty() && causes.size() < MAX_CAUSES) {
      causes.add(cause);
    }
  }

  private static String cause(String line) {
    Matcher unknown = UNKNOWN_PACKAGE.matcher(line);
    if (unknown.find()) {
      String name = unknown.group(1) == null ? unknown.group(2) : unknown.group(1);
      return "the mirror has no package " + name;
    }
    Matcher download = FAILED_DOWNLOAD.matcher(line);
    if (download.find()) {
      return "package " + download.group(1) + " cannot be downloaded: " + download.group(2).strip();
    }
    Matcher list = FAILED_LIST.matcher(line);
    if (list.find()) {
      return list.group(1) + " cannot be fetched: " + list.group(2).strip();
    }
    Matcher failed = FAILED_PACKAGE.matcher(line);
    if (failed.find()) {
      return "package " + failed.group(1) + " cannot be installed";
    }
    Matcher expired = EXPIRED.matcher(line);
    if (expired.find()) {
      return "the index of "
          + expired.group(1)
          + " is "
          + expired.group(2)
          + " (is this machine's clock right?)";
    }
    if (UNSIGNED.matcher(line).find()) {
      return "the mirror's signature cannot be verified (install a newer debian-archive-keyring): "
          + line.strip();
    }
    return "";
  }

  /** What to tell the user; several lines if no cause was recognised. */
  String describe() {
    if (full) {
      return "the disk is full (No space left on device)";
    }
    if (!causes.isEmpty()) {
      return String.join("; ", causes);
    }
    return "the last lines were:\n  " + String.join("\n  ", last);
  }
}
