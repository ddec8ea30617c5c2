package dev.hopx.compat;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * Installs the official clients from their registries at pinned versions, each into a folder of its
 * own below the build folder, once per pin file.
 */
final class ClientEnvironments {
  private static final Duration INSTALL_LIMIT = Duration.ofMinutes(5);
  private static final Path FOLDER =
      Path.of(System.getProperty("hopx.buildDirectory", "target")).resolve("clients");

  private ClientEnvironments() {}

  /** Interpreter of a virtual environment with what {@code requirements} pins. */
  static Path python(String requirements) {
    Path pins = Repository.clients("python").resolve(requirements);
    Path environment = FOLDER.resolve("python-" + requirements.replace(".txt", ""));
    Path python = environment.resolve("bin/python");
    if (isCurrent(environment, pins)) {
      return python;
    }
    install("the Python SDK", List.of("python3", "-m", "venv", "--clear", environment.toString()));
    install(
        "the Python SDK",
        List.of(
            environment.resolve("bin/pip").toString(),
            "install",
            "--quiet",
            "--no-deps",
            "--requirement",
            pins.toString()));
    markCurrent(environment, pins);
    return python;
  }

  /** Folder with the JavaScript SDK in its node_modules and our client programs beside it. */
  static Path javascript() {
    Path source = Repository.clients("javascript");
    Path pins = source.resolve("package-lock.json");
    Path environment = FOLDER.resolve("javascript");
    try {
      if (!isCurrent(environment, pins)) {
        Files.createDirectories(environment);
        for (String name : List.of("package.json", "package-lock.json")) {
          Files.write(environment.resolve(name), Files.readAllBytes(source.resolve(name)));
        }
        install(
            "the JavaScript SDK",
            List.of("npm", "ci", "--silent", "--prefix", environment.toString()));
        markCurrent(environment, pins);
      }
      Files.write(
          environment.resolve("slice.mjs"), Files.readAllBytes(source.resolve("slice.mjs")));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return environment;
  }

  private static void install(String what, List<String> command) {
    Run run = Run.of(Path.of("/"), Map.of(), INSTALL_LIMIT, command);
    assumeTrue(
        run.exitCode() == 0,
        "SKIPPED: "
            + what
            + " could not be installed from its registry ("
            + String.join(" ", command)
            + "): "
            + run.output());
  }

  private static boolean isCurrent(Path environment, Path pins) {
    try {
      Path stamp = environment.resolve("hopx-pins");
      return Files.exists(stamp) && Files.mismatch(stamp, pins) < 0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void markCurrent(Path environment, Path pins) {
    try {
      Files.write(environment.resolve("hopx-pins"), Files.readAllBytes(pins));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
