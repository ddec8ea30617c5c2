package dev.hopx.compat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Runs a program to its end with a deadline. */
record Run(int exitCode, String output) {
  /**
   * @param environment added to this process's own
   * @throws AssertionError with the output so far when it does not end within {@code limit}
   */
  static Run of(
      Path directory, Map<String, String> environment, Duration limit, List<String> command) {
    try {
      Path log = Files.createTempFile("hopx-run", ".log");
      try {
        ProcessBuilder builder =
            new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectInput(ProcessBuilder.Redirect.from(new java.io.File("/dev/null")))
                .redirectOutput(log.toFile());
        builder.environment().putAll(environment);
        Process process = builder.start();
        boolean ended = process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
        if (!ended) {
          process.descendants().forEach(ProcessHandle::destroyForcibly);
          process.destroyForcibly().waitFor();
        }
        String output = new String(Files.readAllBytes(log), StandardCharsets.UTF_8);
        if (!ended) {
          throw new AssertionError(command + " did not end within " + limit + ":\n" + output);
        }
        return new Run(process.exitValue(), output);
      } finally {
        Files.delete(log);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("Interrupted while running " + command, e);
    }
  }
}
