package dev.hopx.channel;

import java.util.List;

/**
 * Absolute directories of the guest below which file operations may end up; empty means no
 * restriction. See {@code guest/PROTOCOL.md}, "Roots".
 */
public record FileRoots(List<String> directories) {
  public static final FileRoots UNRESTRICTED = new FileRoots(List.of());

  public FileRoots {
    directories = List.copyOf(directories);
    for (String directory : directories) {
      if (!directory.startsWith("/")) {
        throw new IllegalArgumentException("A root must be absolute: " + directory);
      }
    }
  }
}
