package dev.hopx.agent;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Notes on disk that an interpreter has state, until it was told that the state is lost: it dies
 * with the server that started it, and the next server has to tell.
 */
final class InterpreterNote {
  private static final Logger log = LoggerFactory.getLogger(InterpreterNote.class);

  private final Path file;

  InterpreterNote(Path stateDirectory, InterpreterKind kind) {
    this.file = stateDirectory.resolve("interpreter-" + kind.name().toLowerCase(Locale.ROOT));
  }

  boolean isThere() {
    return Files.exists(file);
  }

  void write() {
    try {
      Files.createFile(file);
    } catch (FileAlreadyExistsException _) {
      log.trace("{} is there", file);
    } catch (IOException failure) {
      log.warn("Cannot note an interpreter in {}", file, failure);
    }
  }

  void remove() {
    try {
      Files.deleteIfExists(file);
    } catch (IOException failure) {
      log.warn("Cannot remove {}", file, failure);
    }
  }
}
