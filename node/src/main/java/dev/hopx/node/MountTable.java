package dev.hopx.node;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** The mounts of this process's mount namespace, in the order they were made. */
record MountTable(List<Entry> entries) {
  /**
   * One mount.
   *
   * @param options of the mount itself
   * @param fileSystemOptions of the file system, e.g. the controllers of a cgroup hierarchy
   */
  record Entry(Path mountPoint, String type, Set<String> options, Set<String> fileSystemOptions) {}

  static MountTable read() {
    try {
      return parse(
          Files.readAllLines(Path.of("/proc/self/mountinfo"), StandardCharsets.ISO_8859_1));
    } catch (IOException e) {
      throw new NodeException("Cannot read /proc/self/mountinfo; is /proc mounted?", e);
    }
  }

  static MountTable parse(List<String> lines) {
    List<Entry> entries = new ArrayList<>();
    for (String line : lines) {
      String[] halves = line.split(" - ", 2);
      String[] mount = halves[0].split(" ");
      String[] fileSystem = halves[1].split(" ");
      entries.add(
          new Entry(
              Path.of(unescape(mount[4])),
              fileSystem[0],
              Set.of(mount[5].split(",")),
              Set.copyOf(List.of(fileSystem[2].split(",")))));
    }
    return new MountTable(List.copyOf(entries));
  }

  /** Mount points below {@code directory}, the last made first, so that they can be unmounted. */
  List<Path> below(Path directory) {
    return entries.reversed().stream()
        .map(Entry::mountPoint)
        .filter(point -> point.startsWith(directory) && !point.equals(directory))
        .toList();
  }

  /** The mount a path lies on. */
  Entry of(Path path) {
    return entries.reversed().stream()
        .filter(entry -> path.startsWith(entry.mountPoint()))
        .max((a, b) -> a.mountPoint().getNameCount() - b.mountPoint().getNameCount())
        .orElseThrow(() -> new NodeException("No mount holds " + path));
  }

  /** Blanks and the like stand as three octal digits; bytes above 127 as they are. */
  private static String unescape(String text) {
    byte[] bytes = new byte[text.length()];
    int length = 0;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '\\' && i + 3 < text.length()) {
        bytes[length++] = (byte) Integer.parseInt(text.substring(i + 1, i + 4), 8);
        i += 3;
      } else {
        bytes[length++] = (byte) c;
      }
    }
    return new String(bytes, 0, length, StandardCharsets.UTF_8);
  }
}
