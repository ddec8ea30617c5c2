package dev.hopx.compat;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The main job through the official SDKs, unmodified, from their registries. */
@NullUnmarked // fields are set by the life cycle of JUnit
final class OfficialClientsTest {
  private static final Duration LIMIT = Duration.ofMinutes(4);

  private static RunningServer server;

  @BeforeAll
  static void start() {
    server = RunningServer.start("clients");
  }

  @AfterAll
  static void stop() {
    if (server != null) {
      server.close();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"requirements-oldest.txt", "requirements-newest.txt"})
  void pythonSdkDoesTheMainJob(String requirements) {
    Path python = ClientEnvironments.python(requirements);
    Path program = Repository.clients("python").resolve("slice.py");
    held(List.of(python.toString(), program.toString()), server.directory());
  }

  @Test
  void javascriptSdkDoesTheMainJob() {
    Path environment = ClientEnvironments.javascript();
    held(List.of("node", "slice.mjs"), environment);
  }

  private static void held(List<String> command, Path directory) {
    Run run = Run.of(directory, server.clientEnvironment(), LIMIT, command);
    assertThat(run.exitCode())
        .as("%s\n--- server log ---\n%s", run.output(), server.logText())
        .isZero();
    assertThat(run.output()).contains("ok python", "ok go", "all held").doesNotContain("FAILED");
  }
}
