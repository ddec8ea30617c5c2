package dev.hopx.node;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * Fills the writable layer of a sandbox before anybody inside can see it. Directories get the mode
 * they have in the template, everything belongs to the sandbox's root.
 */
final class UpperLayer {
  private static final Set<PosixFilePermission> DIRECTORY =
      PosixFilePermissions.fromString("rwxr-xr-x");
  private static final Set<PosixFilePermission> FILE = PosixFilePermissions.fromString("rw-r--r--");

  private final Path lower;
  private final Path upper;
  private final IdRange ids;

  /**
   * @param lower the template's root
   * @param upper an empty directory that exists
   */
  UpperLayer(Path lower, Path upper, IdRange ids) {
    this.lower = lower;
    this.upper = upper;
    this.ids = ids;
  }

  /** Makes a directory below the root, and those above it, unless the template has it. */
  void directory(String name) {
    if (!Files.exists(lower.resolve(name), LinkOption.NOFOLLOW_LINKS)) {
      makeDirectories(Path.of(name));
    }
  }

  /** Writes a file below the root over whatever the template has there. */
  void file(String name, byte[] content) {
    Path path = Path.of(name);
    Path parent = path.getParent();
    if (parent != null) {
      makeDirectories(parent);
    }
    Path target = upper.resolve(path);
    try {
      Files.write(target, content);
      Files.setPosixFilePermissions(target, FILE);
      own(target, ids);
    } catch (IOException e) {
      throw new NodeException("Cannot write " + target + ": " + e, e);
    }
  }

  void file(String name, String content) {
    file(name, content.getBytes(StandardCharsets.UTF_8));
  }

  /** True when this path is a directory of the template, with no link on the way. */
  boolean isDirectory(String name) {
    Path path = lower;
    for (Path part : Path.of(name)) {
      path = path.resolve(part);
      if (!Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
        return false;
      }
    }
    return true;
  }

  private void makeDirectories(Path path) {
    Path made = Path.of("");
    for (Path name : path) {
      made = made.resolve(name);
      makeDirectory(made);
    }
  }

  private void makeDirectory(Path path) {
    Path target = upper.resolve(path);
    if (Files.exists(target)) {
      return;
    }
    Path original = lower.resolve(path);
    try {
      Set<PosixFilePermission> mode = DIRECTORY;
      if (Files.exists(original, LinkOption.NOFOLLOW_LINKS)) {
        if (!Files.isDirectory(original, LinkOption.NOFOLLOW_LINKS)) {
          throw new NodeException(
              "The template's /" + path + " is not a directory; rebuild the template");
        }
        mode = Files.getPosixFilePermissions(original);
      }
      Files.createDirectory(target);
      Files.setPosixFilePermissions(target, mode);
      own(target, ids);
    } catch (IOException e) {
      throw new NodeException("Cannot make " + target + ": " + e, e);
    }
  }

  /** Gives a file, directory or link of this process's own to the sandbox's root. */
  static void own(Path target, IdRange ids) {
    try {
      Files.setAttribute(target, "unix:gid", ids.owner(), LinkOption.NOFOLLOW_LINKS);
      Files.setAttribute(target, "unix:uid", ids.owner(), LinkOption.NOFOLLOW_LINKS);
    } catch (IOException e) {
      throw new NodeException("Cannot change the owner of " + target + ": " + e, e);
    }
  }
}
