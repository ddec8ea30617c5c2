package dev.hopx.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Runs a bash script to its end; the references are timed inside it, without a JVM in between. */
final class Shell {
  private Shell() {}

  static List<String> lines(String script, String... arguments) {
    List<String> command = new ArrayList<>(List.of("bash", "-euc", script, "bench"));
    command.addAll(List.of(arguments));
    try {
      Process process =
          new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
      process.getOutputStream().close();
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      int exitCode = process.waitFor();
      if (exitCode != 0) {
        throw new IllegalStateException(
            "A reference script ended with " + exitCode + ": " + script);
      }
      return output.lines().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted", e);
    }
  }

  /** Lines of microseconds as milliseconds. */
  static List<Double> milliseconds(List<String> lines) {
    return lines.stream().map(line -> Long.parseLong(line.strip()) / 1000.0).toList();
  }
}
