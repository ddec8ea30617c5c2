package dev.hopx.node;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * A Debian root file system to make sandboxes from: the directory in the environment variable
 * {@value #VARIABLE}, otherwise what the default template store has.
 */
final class TestRootFileSystem {
  static final String VARIABLE = "HOPX_TEST_ROOTFS";

  private static final Path STORE = Path.of("/var/lib/hopx/templates");
  private static final List<String> NEEDED = List.of("bin/bash", "usr/bin/python3");

  private TestRootFileSystem() {}

  static Path find() {
    String given = System.getenv(VARIABLE);
    Path found = given != null ? Path.of(given) : inStore();
    assumeTrue(
        isUsable(found),
        "SKIPPED, NOT PASSED: no root file system with bash and python3; set "
            + VARIABLE
            + " to one, or prepare the templates (./hopx up)");
    return found;
  }

  private static boolean isUsable(Path root) {
    return NEEDED.stream().allMatch(program -> Files.isExecutable(root.resolve(program)));
  }

  /** Stores keep a root in the digest's directory or directly below it. */
  private static Path inStore() {
    if (!Files.isDirectory(STORE)) {
      return STORE;
    }
    try (Stream<Path> paths = Files.walk(STORE, 2)) {
      return paths
          .filter(Files::isDirectory)
          .filter(TestRootFileSystem::isUsable)
          .sorted()
          .findFirst()
          .orElse(STORE);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
