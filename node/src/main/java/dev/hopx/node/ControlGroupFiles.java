package dev.hopx.node;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/** Reads and writes of the kernel's control group files. */
final class ControlGroupFiles {
  static final String PROCESSES = "cgroup.procs";

  private ControlGroupFiles() {}

  static void write(Path file, String value) {
    try {
      // No CREATE: a missing file means a missing feature, not a new file.
      Files.writeString(file, value, StandardOpenOption.WRITE);
    } catch (IOException e) {
      throw new NodeException("Cannot write " + value + " to " + file + ": " + e.getMessage(), e);
    }
  }

  static void writeIfPresent(Path file, String value) {
    if (Files.exists(file)) {
      write(file, value);
    }
  }

  static long readNumber(Path file) {
    return Long.parseLong(readText(file));
  }

  static String readText(Path file) {
    try {
      return Files.readString(file).strip();
    } catch (IOException e) {
      throw new NodeException("Cannot read " + file + ": " + e.getMessage(), e);
    }
  }

  static void make(Path directory) {
    try {
      Files.createDirectories(directory);
    } catch (IOException e) {
      throw new NodeException("Cannot make the control group " + directory, e);
    }
  }

  /** The processes in a group and all below it; none when it does not exist. */
  static List<Long> processes(Path group) {
    List<Long> processes = new ArrayList<>();
    try {
      for (String line : Files.readAllLines(group.resolve(PROCESSES))) {
        processes.add(Long.parseLong(line));
      }
      for (Path child : children(group)) {
        processes.addAll(processes(child));
      }
    } catch (NoSuchFileException _) {
      // Removed by now, and so empty.
    } catch (IOException e) {
      // A group that is removed between open and read answers ENODEV.
      if (Files.exists(group)) {
        throw new NodeException("Cannot read the processes of " + group, e);
      }
    }
    return processes;
  }

  static List<Path> children(Path group) {
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(group, Files::isDirectory)) {
      List<Path> children = new ArrayList<>();
      entries.forEach(children::add);
      return children;
    } catch (NoSuchFileException _) {
      return List.of();
    } catch (IOException e) {
      throw new NodeException("Cannot list the control group " + group, e);
    }
  }

  /** Removes a group and all below it; false while a process is in one of them. */
  static boolean remove(Path group) {
    boolean removed = true;
    for (Path child : children(group)) {
      removed &= remove(child);
    }
    if (!removed) {
      return false;
    }
    try {
      Files.deleteIfExists(group);
      return true;
    } catch (IOException _) {
      // EBUSY: somebody came in, or the last one is still on its way out.
      return false;
    }
  }
}
