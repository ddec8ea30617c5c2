package dev.hopx.node;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/** Keeps a second server away from the same sandboxes. The kernel takes it from a dead server. */
final class RunDirectoryLock implements AutoCloseable {
  private final FileChannel channel;

  private RunDirectoryLock(FileChannel channel) {
    this.channel = channel;
  }

  static RunDirectoryLock take(Path runDirectory) {
    Path file = runDirectory.resolve("node.lock");
    try {
      FileChannel channel =
          FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
      if (tryLock(channel) == null) {
        channel.close();
        throw new NodeException(
            "Another server uses " + runDirectory + "; stop it, or choose another run-dir");
      }
      return new RunDirectoryLock(channel);
    } catch (IOException e) {
      throw new NodeException("Cannot lock " + file + ": " + e, e);
    }
  }

  private static @Nullable FileLock tryLock(FileChannel channel) throws IOException {
    try {
      return channel.tryLock();
    } catch (OverlappingFileLockException _) {
      return null;
    }
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      throw new NodeException("Cannot unlock the run directory", e);
    }
  }
}
