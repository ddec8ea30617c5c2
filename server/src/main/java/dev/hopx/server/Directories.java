package dev.hopx.server;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The server's two directories, taken for this process alone. Owns the lock on the data directory
 * and the file that tells the process id.
 */
final class Directories implements AutoCloseable {
  static final String PID_FILE = "server.pid";
  static final String LOCK_FILE = "server.lock";

  private static final Set<PosixFilePermission> OWNER_ONLY =
      PosixFilePermissions.fromString("rwx------");
  private static final FileAttribute<?> PRIVATE = PosixFilePermissions.asFileAttribute(OWNER_ONLY);

  private final FileChannel lockFile;
  private final Path pidFile;

  private Directories(FileChannel lockFile, Path pidFile) {
    this.lockFile = lockFile;
    this.pidFile = pidFile;
  }

  /**
   * Makes what is missing (0700) and takes both.
   *
   * @throws ConfigurationException when another server has them or they cannot be made
   */
  static Directories take(Path dataDir, Path runDir) {
    make(dataDir, "data-dir");
    make(runDir, "run-dir");
    FileChannel lockFile;
    try {
      lockFile =
          FileChannel.open(
              dataDir.resolve(LOCK_FILE), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    } catch (IOException failure) {
      throw new ConfigurationException("data-dir is not usable: " + failure);
    }
    Path pidFile = runDir.resolve(PID_FILE);
    try {
      @Nullable FileLock lock = lockFile.tryLock();
      if (lock == null) {
        throw new ConfigurationException(
            "Another server uses " + dataDir + otherServer(pidFile) + "; stop it first");
      }
      Path written = Files.writeString(runDir.resolve(PID_FILE + ".new"), pid() + "\n");
      Files.move(written, pidFile, StandardCopyOption.ATOMIC_MOVE);
      return new Directories(lockFile, pidFile);
    } catch (IOException failure) {
      closeQuietly(lockFile);
      throw new ConfigurationException("run-dir is not usable: " + failure);
    } catch (RuntimeException failure) {
      closeQuietly(lockFile);
      throw failure;
    }
  }

  private static void make(Path directory, String key) {
    try {
      if (Files.isDirectory(directory)) {
        return;
      }
      if (directory.getParent() != null) {
        Files.createDirectories(directory.getParent());
      }
      Files.createDirectory(directory, PRIVATE);
    } catch (IOException failure) {
      throw new ConfigurationException(
          key + ": cannot make the directory " + directory + ": " + failure);
    }
  }

  private static String otherServer(Path pidFile) {
    try {
      return " (process " + Files.readString(pidFile).strip() + ")";
    } catch (IOException unknown) {
      return "";
    }
  }

  private static String pid() {
    return Long.toString(ProcessHandle.current().pid());
  }

  private static void closeQuietly(FileChannel channel) {
    try {
      channel.close();
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  @Override
  public void close() {
    try {
      Files.deleteIfExists(pidFile);
      lockFile.close();
    } catch (IOException failure) {
      throw new UncheckedIOException("Cannot remove " + pidFile, failure);
    }
  }
}
