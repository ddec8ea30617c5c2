package dev.hopx.node;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * crun, used for one thing: starting containers. They run detached, as nobody's children; all else
 * (processes, signals, the end) goes through the guest channel and the kernel, where it is ten
 * times faster.
 */
final class ContainerRuntime {
  private static final Logger LOG = LoggerFactory.getLogger(ContainerRuntime.class);

  private static final int LOG_TAIL_BYTES = 2048;

  /** More starts at a time are no faster, they only share the processors. */
  private static final int PARALLEL_STARTS =
      Math.max(4, 2 * Runtime.getRuntime().availableProcessors());

  private final String program;
  private final Path stateDirectory;
  private final Duration timeout;
  private final Semaphore starts = new Semaphore(PARALLEL_STARTS, true);

  /**
   * @param stateDirectory where crun keeps what it knows of its containers
   */
  ContainerRuntime(String program, Path stateDirectory, Duration timeout) {
    this.program = program;
    this.stateDirectory = stateDirectory;
    this.timeout = timeout;
  }

  /** The runtime's own account of its version; fails when it is missing. */
  String version() {
    return ExternalCommand.run(
            "Looking for the container runtime (apt-get install crun)",
            List.of(program, "--version"),
            "")
        .lines()
        .findFirst()
        .orElse("unknown");
  }

  /**
   * Starts a container from the bundle in {@code paths} and gives its process 1, which runs.
   *
   * @throws NodeException with the runtime's own words; processes it may have left are in the
   *     sandbox's control groups
   */
  ProcessIdentity start(SandboxId id, SandboxPaths paths) {
    starts.acquireUninterruptibly();
    try {
      runToEnd(id, paths);
    } finally {
      starts.release();
    }
    try {
      long pid = Long.parseLong(Files.readString(paths.initPid()).strip());
      return ProcessIdentity.of(pid)
          .orElseThrow(() -> new NodeException("Process 1 ended at once: " + logTail(paths.log())));
    } catch (IOException | NumberFormatException e) {
      throw new NodeException("Cannot read the pid of process 1 from " + paths.initPid(), e);
    }
  }

  /** Removes what crun keeps of a container whose processes are dead; nothing kept is fine. */
  Path stateOf(SandboxId id) {
    return stateDirectory.resolve(id.value());
  }

  /**
   * Ends runs of the runtime that an earlier server left in the middle: their containers would come
   * to life behind the back of the clean-up.
   */
  void endStrayStarts() {
    String mark = stateDirectory.toString();
    ProcessHandle.allProcesses()
        .filter(process -> isStart(process, mark))
        .forEach(
            process -> {
              LOG.warn("Ending an unfinished start of an earlier server (pid {})", process.pid());
              process.descendants().forEach(ProcessHandle::destroyForcibly);
              process.destroyForcibly();
            });
  }

  private static boolean isStart(ProcessHandle process, String mark) {
    return process
        .info()
        .arguments()
        .map(arguments -> List.of(arguments).contains(mark) && List.of(arguments).contains("run"))
        .orElse(false);
  }

  private void runToEnd(SandboxId id, SandboxPaths paths) {
    ProcessBuilder builder =
        new ProcessBuilder(
                program,
                "--root",
                stateDirectory.toString(),
                "--cgroup-manager=cgroupfs",
                "run",
                "--detach",
                "--pid-file",
                paths.initPid().toString(),
                "--bundle",
                paths.data().toString(),
                id.value())
            .directory(paths.data().toFile())
            .redirectInput(new File("/dev/null"))
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(paths.log().toFile()));
    builder.environment().clear();
    builder.environment().put("PATH", ExternalCommand.PATH);
    Process process;
    try {
      process = builder.start();
    } catch (IOException e) {
      throw new NodeException("Cannot run " + program + ": " + e.getMessage(), e);
    }
    try {
      if (!process.waitFor(timeout.toMillis(), TimeUnit.MILLISECONDS)) {
        throw new NodeException(
            program + " did not start the container within " + timeout.toSeconds() + " s");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new NodeException("Interrupted while starting a container", e);
    } finally {
      if (process.isAlive()) {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
      }
    }
    if (process.exitValue() != 0) {
      throw new NodeException(
          program + " failed (" + process.exitValue() + "): " + logTail(paths.log()));
    }
  }

  static String logTail(Path log) {
    try {
      byte[] content = Files.readAllBytes(log);
      int start = Math.max(0, content.length - LOG_TAIL_BYTES);
      return new String(content, start, content.length - start, StandardCharsets.UTF_8).strip();
    } catch (IOException _) {
      return "(no log)";
    }
  }
}
