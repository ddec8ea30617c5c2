package dev.hopx.node;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Short runs of the system's tools, with a clean environment. */
final class ExternalCommand {
  static final String PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

  private static final int MAX_OUTPUT_BYTES = 65_536;
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  private ExternalCommand() {}

  /**
   * Runs a command and gives its output, standard error included.
   *
   * @throws NodeException when it is missing, fails or takes too long; the message names {@code
   *     purpose} and has the command's own words
   */
  static String run(String purpose, List<String> command, String input) {
    return run(purpose, command, input, 0);
  }

  /**
   * The same for a tool that has more to say than yes and no.
   *
   * @param worst the greatest exit status that is no failure
   */
  static String run(String purpose, List<String> command, String input, int worst) {
    Process process = start(purpose, command);
    Thread watchdog = Thread.ofVirtual().start(() -> endLate(process));
    try (InputStream output = process.getInputStream()) {
      // Larger than a pipe's buffer is no concern: none of our tools writes before it has read.
      try (OutputStream stdin = process.getOutputStream()) {
        stdin.write(input.getBytes(StandardCharsets.UTF_8));
      } catch (IOException _) {
        // It ended without reading; its status tells why.
      }
      String text = new String(output.readNBytes(MAX_OUTPUT_BYTES), StandardCharsets.UTF_8).strip();
      int status = process.waitFor();
      if (status > worst) {
        throw new NodeException(
            purpose + ": " + command.getFirst() + " failed (" + status + "): " + text);
      }
      return text;
    } catch (IOException e) {
      throw new NodeException(purpose + ": cannot read from " + command.getFirst(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new NodeException(purpose + ": interrupted", e);
    } finally {
      process.destroyForcibly();
      watchdog.interrupt();
    }
  }

  private static void endLate(Process process) {
    try {
      if (!process.waitFor(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException _) {
      // It ended in time.
    }
  }

  private static Process start(String purpose, List<String> command) {
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().clear();
    builder.environment().put("PATH", PATH);
    try {
      return builder.start();
    } catch (IOException e) {
      throw new NodeException(
          purpose
              + ": cannot run "
              + command.getFirst()
              + " ("
              + e.getMessage()
              + "); install it, or put it on the PATH "
              + PATH,
          e);
    }
  }
}
