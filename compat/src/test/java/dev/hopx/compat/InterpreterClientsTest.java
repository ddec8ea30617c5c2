package dev.hopx.compat;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** State and rich output of the interpreters through the official Python SDK, unmodified. */
final class InterpreterClientsTest extends ServerTestBase {
  @Test
  void pythonSdk() {
    Path python = ClientEnvironments.python("requirements-newest.txt");
    Path program = Repository.clients("python").resolve("interpreter.py");
    Run run =
        Run.of(
            server.directory(),
            server.clientEnvironment(),
            Duration.ofMinutes(4),
            List.of(python.toString(), program.toString()));
    assertThat(run.exitCode())
        .as("%s\n--- server log ---\n%s", run.output(), server.logText())
        .isZero();
    assertThat(run.output())
        .contains("ok python state persists over a pause", "all held")
        .doesNotContain("FAILED");
  }
}
