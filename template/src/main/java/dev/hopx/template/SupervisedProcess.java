package dev.hopx.template;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;

/**
 * A command that never outlives this process and never leaves a mount behind.
 *
 * <p>It runs in a pid and a mount namespace of its own, under a shell that is process 1 there and
 * ends as soon as its standard input does. When this process dies, however it dies, the kernel
 * closes the pipe, the shell ends, and with process 1 everything in the namespace.
 */
final class SupervisedProcess {
  private static final String SUPERVISOR =
      """
      exec 3<&0
      "$@" </dev/null 3<&- &
      work=$!
      { cat <&3 >/dev/null; kill -KILL "$work" 2>/dev/null; } >/dev/null 2>&1 &
      wait "$work"
      """;
  private static final String PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  private static final List<String> PROXY_VARIABLES =
      List.of("http_proxy", "https_proxy", "no_proxy", "ftp_proxy", "HTTPS_PROXY", "NO_PROXY");

  private SupervisedProcess() {}

  /**
   * Runs the command to its end.
   *
   * @param network whether it gets the host's network, or none
   * @param output called with each line of its output and errors, by one other thread; nothing
   *     calls it any more when this method has returned, unless this thread was interrupted
   * @return exit status, 128 + signal if it was killed
   * @throws TemplateException when it cannot be started, or this thread is interrupted (the command
   *     is killed then)
   */
  static int run(List<String> command, boolean network, Consumer<String> output) {
    List<String> whole = new ArrayList<>();
    whole.addAll(List.of("unshare", "--mount", "--propagation", "private", "--pid", "--fork"));
    if (!network) {
      whole.add("--net");
    }
    whole.addAll(List.of("--kill-child", "--mount-proc", "sh", "-c", SUPERVISOR, "hopx-build"));
    whole.addAll(command);
    ProcessBuilder builder = new ProcessBuilder(whole).redirectErrorStream(true);
    // The caller's environment may hold secrets, and its locale would change what apt prints.
    Map<String, String> inherited = Map.copyOf(builder.environment());
    builder.environment().clear();
    builder.environment().put("PATH", PATH);
    builder.environment().put("LC_ALL", "C.UTF-8");
    builder.environment().put("DEBIAN_FRONTEND", "noninteractive");
    for (String name : PROXY_VARIABLES) {
      String value = inherited.get(name);
      if (network && value != null) {
        builder.environment().put(name, value);
      }
    }
    Process process;
    try {
      process = builder.start();
    } catch (IOException e) {
      throw new TemplateException("Cannot run unshare (package util-linux): " + e.getMessage(), e);
    }
    try {
      // A read cannot be interrupted, waiting can.
      CompletableFuture<Void> reading = new CompletableFuture<>();
      Thread.ofVirtual()
          .name("build-output")
          .start(
              () -> {
                try {
                  read(process, output);
                  reading.complete(null);
                } catch (RuntimeException e) {
                  reading.completeExceptionally(e);
                }
              });
      reading.get();
      return process.waitFor();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw new IllegalStateException(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TemplateException("Interrupted while " + command.getFirst() + " was running", e);
    } finally {
      process.destroyForcibly();
    }
  }

  private static void read(Process process, Consumer<String> output) {
    try (BufferedReader reader =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        output.accept(line);
      }
    } catch (IOException e) {
      throw new TemplateException("Cannot read the output of a build", e);
    }
  }
}
