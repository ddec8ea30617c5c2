package dev.hopx.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;

/** What has to be true of the host before the first sandbox. */
final class HostSetup {
  private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

  private HostSetup() {}

  static void requireRoot() {
    try {
      if (!Integer.valueOf(0).equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"))) {
        throw new NodeException("The server must run as root; start it with sudo ./hopx up");
      }
    } catch (IOException e) {
      throw new NodeException("Cannot read /proc/self; is /proc mounted?", e);
    }
  }

  /** Changes with every start of the machine. */
  static String bootId() {
    try {
      return Files.readString(BOOT_ID).strip();
    } catch (IOException e) {
      throw new NodeException("Cannot read " + BOOT_ID, e);
    }
  }

  /** Makes a directory that nobody but root can look into. */
  static void privateDirectory(Path directory) {
    try {
      Files.createDirectories(directory);
      Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
    } catch (IOException e) {
      throw new NodeException("Cannot make the directory " + directory + ": " + e, e);
    }
  }

  /**
   * Makes programs below the run directory executable where /run is mounted noexec, as Debian does:
   * by a mount of the directory onto itself, seen by this mount namespace only.
   */
  static void allowPrograms(Path runDirectory) {
    Set<String> options = MountTable.read().of(runDirectory).options();
    if (!options.contains("noexec")) {
      return;
    }
    String path = runDirectory.toString();
    String purpose = "Making programs in " + path + " executable";
    ExternalCommand.run(purpose, List.of("mount", "--bind", path, path), "");
    ExternalCommand.run(
        purpose, List.of("mount", "-o", "remount,bind,exec,nosuid,nodev", path), "");
  }
}
