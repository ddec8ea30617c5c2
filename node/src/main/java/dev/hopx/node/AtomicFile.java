package dev.hopx.node;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * Files (0600) that are there with their old content or their new, whenever this process ends. Not
 * forced to the disk, which takes 6 ms: no sandbox runs on after a power cut.
 */
final class AtomicFile {
  private AtomicFile() {}

  static void write(Path file, byte[] content) {
    Path temporary = file.resolveSibling("." + file.getFileName() + ".new");
    try {
      Files.deleteIfExists(temporary);
      try (FileChannel channel =
          FileChannel.open(
              temporary,
              Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
              PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
        ByteBuffer buffer = ByteBuffer.wrap(content);
        while (buffer.hasRemaining()) {
          channel.write(buffer);
        }
      }
      Files.move(
          temporary, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      throw new NodeException("Cannot write " + file + ": " + e, e);
    }
  }
}
