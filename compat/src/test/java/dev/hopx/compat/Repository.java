package dev.hopx.compat;

import java.nio.file.Files;
import java.nio.file.Path;

/** Where the project's own files are. */
final class Repository {
  private Repository() {}

  /** The project's root: the nearest folder above the working directory with the entry script. */
  static Path root() {
    for (Path folder = Path.of("").toAbsolutePath(); folder != null; folder = folder.getParent()) {
      if (Files.isRegularFile(folder.resolve("hopx"))) {
        return folder;
      }
    }
    throw new AssertionError("No folder above the working directory has the script hopx");
  }

  static Path clients(String language) {
    return root().resolve("compat/src/test/clients").resolve(language);
  }
}
