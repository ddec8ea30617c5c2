package dev.hopx.agent;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Finds a root file system to run the tests in: one with all languages where there is one. */
final class TestRootfs {
  private static final String DEFAULT_STORE = "/var/lib/hopx/templates";

  private TestRootfs() {}

  static Optional<Path> find() {
    List<Path> candidates = new ArrayList<>(stored());
    Optional.ofNullable(System.getenv("HOPX_TEST_ROOTFS")).map(Path::of).ifPresent(candidates::add);
    return candidates.stream()
        .filter(root -> Files.exists(root.resolve("usr/bin/go")))
        .findFirst()
        .or(
            () ->
                candidates.stream().filter(root -> Files.exists(root.resolve("bin"))).findFirst());
  }

  private static List<Path> stored() {
    Path store =
        Path.of(
            Optional.ofNullable(System.getenv("HOPX_TEST_TEMPLATE_STORE")).orElse(DEFAULT_STORE));
    if (!Files.isDirectory(store)) {
      return List.of();
    }
    try (Stream<Path> templates = Files.list(store)) {
      return templates
          .filter(template -> Files.exists(template.resolve("complete")))
          .map(template -> template.resolve("rootfs"))
          .sorted()
          .toList();
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }
}
