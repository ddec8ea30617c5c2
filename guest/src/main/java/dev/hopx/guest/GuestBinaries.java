package dev.hopx.guest;

import static java.util.Objects.requireNonNull;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;

/**
 * The native programs of this module as files: {@code hopx-init}, process 1 of every sandbox,
 * {@code hopx-host}, the helper for namespaces and mounts, and the compiled seccomp filter.
 */
public final class GuestBinaries {
  private static final String PROGRAM_MODE = "rwxr-xr-x";
  private static final String DATA_MODE = "rw-r--r--";

  private final Path directory;

  private GuestBinaries(Path directory) {
    this.directory = directory;
  }

  /**
   * Writes the files into a directory, which is made when it does not exist. Each file appears
   * whole or not at all; one that is there already with the same content and mode stays the same
   * file, so that running sandboxes and their hard links keep it.
   *
   * @throws UncheckedIOException when the directory cannot be written, or when this module was
   *     built without one of the programs
   */
  public static GuestBinaries extractTo(Path directory) {
    requireNonNull(directory, "directory is null");
    try {
      Files.createDirectories(directory);
      GuestBinaries binaries = new GuestBinaries(directory.toAbsolutePath());
      extract(binaries.init(), PROGRAM_MODE);
      extract(binaries.host(), PROGRAM_MODE);
      extract(binaries.seccompFilter(), DATA_MODE);
      return binaries;
    } catch (IOException e) {
      throw new UncheckedIOException(
          "Cannot write the guest's programs to " + directory + ": " + e.getMessage(), e);
    }
  }

  /** The static program that is process 1 of a sandbox. */
  public Path init() {
    return directory.resolve("hopx-init");
  }

  /** The static helper that makes namespaces and mounts on the host. */
  public Path host() {
    return directory.resolve("hopx-host");
  }

  /** The seccomp filter: an array of {@code struct sock_filter} in this machine's byte order. */
  public Path seccompFilter() {
    return directory.resolve("seccomp.bpf");
  }

  private static void extract(Path target, String mode) throws IOException {
    String name = target.getFileName().toString();
    byte[] content = resource(name);
    if (isCurrent(target, content, mode)) {
      return;
    }
    Path temporary = Files.createTempFile(target.getParent(), "." + name, ".new");
    try {
      Files.write(temporary, content);
      Files.setPosixFilePermissions(temporary, PosixFilePermissions.fromString(mode));
      Files.move(
          temporary, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(temporary);
    }
  }

  private static boolean isCurrent(Path target, byte[] content, String mode) throws IOException {
    return Files.isRegularFile(target, LinkOption.NOFOLLOW_LINKS)
        && Files.size(target) == content.length
        && Files.getPosixFilePermissions(target).equals(PosixFilePermissions.fromString(mode))
        && Arrays.equals(Files.readAllBytes(target), content);
  }

  private static byte[] resource(String name) throws IOException {
    try (InputStream stream = GuestBinaries.class.getResourceAsStream(name)) {
      if (stream == null) {
        throw new FileNotFoundException(
            name + " is not part of this build; build the module guest again");
      }
      return stream.readAllBytes();
    }
  }
}
