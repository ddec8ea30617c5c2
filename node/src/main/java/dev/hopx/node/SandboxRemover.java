package dev.hopx.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Stream;

/**
 * Removes all that a sandbox may have, whether it was whole, half made or half removed. Every step
 * is tried; the record of the sandbox goes last and only when all else is gone, so that a later try
 * knows what to look for. When {@link #remove} returns, its processes are dead and its name is free
 * again; its mounts, files and network link, which nobody uses any more, go in the background.
 */
final class SandboxRemover {
  /** How long the kernel gets to end the whole pid namespace once process 1 was killed. */
  private static final Duration NAMESPACE_DEATH = Duration.ofMillis(500);

  private final NodeOptions options;
  private final HostHelper host;
  private final ControlGroups controlGroups;
  private final ContainerRuntime runtime;
  private final DeferredRemovals removals;
  private final String boot;

  SandboxRemover(
      NodeOptions options,
      HostHelper host,
      ControlGroups controlGroups,
      ContainerRuntime runtime,
      DeferredRemovals removals,
      String boot) {
    this.options = options;
    this.host = host;
    this.controlGroups = controlGroups;
    this.runtime = runtime;
    this.removals = removals;
    this.boot = boot;
  }

  /**
   * @param stored what is known of it
   * @throws NodeException naming everything that could not be removed
   */
  void remove(SandboxId id, Optional<StoredSandbox> stored) {
    List<RuntimeException> failures = takeDown(id, stored);
    if (failures.isEmpty()) {
      attempt(failures, () -> discard(SandboxPaths.of(options, id).data()));
    }
    complain(id, "removed", failures);
  }

  /**
   * Ends everything of a sandbox but its files and what stands beside them, for a later start. When
   * this returns, a power cut takes nothing of its disk away.
   *
   * @throws NodeException naming everything that could not be taken down
   */
  void shutDown(StoredSandbox stored) {
    SandboxId id = new SandboxId(stored.id());
    List<RuntimeException> failures = takeDown(id, Optional.of(stored));
    // Not in the background: the next start takes the same name.
    attempt(failures, () -> host.removeLink(stored.slot().link()));
    attempt(failures, () -> putAway(SandboxPaths.of(options, id)));
    complain(id, "stopped", failures);
  }

  /** In the foreground: the next start mounts the same image, also after another boot. */
  private void putAway(SandboxPaths paths) {
    unmount(paths);
    if (Files.exists(paths.diskImage())) {
      host.settleDisk(paths.diskImage());
    }
  }

  private List<RuntimeException> takeDown(SandboxId id, Optional<StoredSandbox> stored) {
    SandboxPaths paths = SandboxPaths.of(options, id);
    List<RuntimeException> failures = new ArrayList<>();
    attempt(failures, () -> kill(id, stored.flatMap(known -> known.runningInit(boot))));
    attempt(failures, () -> unpin(paths));
    attempt(failures, () -> controlGroups.of(id).remove());
    attempt(failures, () -> host.removeTree(runtime.stateOf(id)));
    attempt(failures, () -> host.removeTree(paths.run()));
    return failures;
  }

  private static void complain(SandboxId id, String what, List<RuntimeException> failures) {
    if (!failures.isEmpty()) {
      NodeException failure =
          new NodeException(
              "Sandbox "
                  + id
                  + " could not be "
                  + what
                  + " entirely; try again: "
                  + String.join("; ", failures.stream().map(Throwable::getMessage).toList()));
      failures.forEach(failure::addSuppressed);
      throw failure;
    }
  }

  /**
   * Ends every process of the sandbox.
   *
   * @param init its process 1, if that runs
   */
  void kill(SandboxId id, Optional<ProcessIdentity> init) {
    SandboxGroups groups = controlGroups.of(id);
    if (init.isPresent()) {
      // The kernel ends a pid namespace with its process 1: one signal instead of one for each.
      init.get().kill();
      // A paused one would not get to die.
      groups.freezer().thaw();
      long deadline = System.nanoTime() + NAMESPACE_DEATH.toNanos();
      while (!groups.isEmpty() && System.nanoTime() - deadline < 0) {
        pause();
      }
    }
    groups.killAll();
  }

  /** Takes a link away in the background; then {@code then} is run. */
  void removeLink(String link, Runnable then) {
    removals.add(
        "link " + link,
        () -> {
          host.removeLink(link);
          then.run();
        });
  }

  /** Goes on with what an earlier server had no time to remove. */
  void resume() {
    for (Path directory : discarded()) {
      removals.add(directory.toString(), () -> removeUnmounted(directory));
    }
  }

  /** Out of the way at once, off the disk in the background. */
  private void discard(Path directory) {
    if (!Files.exists(directory)) {
      return;
    }
    Path target =
        SandboxPaths.discarded(options).resolve(directory.getFileName() + "-" + UUID.randomUUID());
    try {
      Files.move(directory, target, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new NodeException("Cannot move " + directory + " to " + target + ": " + e, e);
    }
    removals.add(target.toString(), () -> removeUnmounted(target));
  }

  /** In the background: what was written last goes to a disk's image before it is let go. */
  private void removeUnmounted(Path data) {
    unmount(new SandboxPaths(data, data));
    host.removeTree(data);
  }

  private List<Path> discarded() {
    try (Stream<Path> entries = Files.list(SandboxPaths.discarded(options))) {
      return entries.toList();
    } catch (IOException e) {
      throw new NodeException("Cannot list " + SandboxPaths.discarded(options) + ": " + e, e);
    }
  }

  void unmount(SandboxPaths paths) {
    host.unmount(paths.root());
    host.unmount(paths.lower());
    host.unmount(paths.disk());
  }

  void unpin(SandboxPaths paths) {
    host.unpin(paths.networkNamespace());
    host.unpin(paths.userNamespace());
  }

  private static void attempt(List<RuntimeException> failures, Runnable step) {
    try {
      step.run();
    } catch (RuntimeException e) {
      failures.add(e);
    }
  }

  private static void pause() {
    try {
      Thread.sleep(Duration.ofMillis(1));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new NodeException("Interrupted while a sandbox was ending", e);
    }
  }
}
