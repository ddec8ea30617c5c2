package dev.hopx.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * The control groups of one sandbox:
 *
 * <pre>
 * /INSTANCE/ID         the limits of the whole sandbox
 * /INSTANCE/ID/init    made by the runtime; holds process 1 and what it starts for file operations
 * /INSTANCE/ID/run     everything users run, with a few processes less than the sandbox may have
 * /INSTANCE/ID/run/xN  one execution, so that its whole tree can be killed
 * </pre>
 *
 * With version 1 {@code run} exists in the freezer and pids hierarchies only; for memory and
 * processor time everything is charged to {@code init}, and so to the sandbox. With version 2 the
 * device program of the runtime covers {@code init} only; elsewhere devices are refused by the user
 * namespace (no mknod) and by {@code nodev} mounts.
 */
final class SandboxGroups {
  /** Kept free for process 1 and its workers, so that it answers beside a fork bomb. */
  static final int RESERVED_PROCESSES = 32;

  static final int CPU_PERIOD_MICROS = 100_000;

  private static final Duration KILL_LIMIT = Duration.ofSeconds(10);
  private static final Duration REMOVE_LIMIT = Duration.ofSeconds(5);
  private static final Duration REMOVE_PAUSE = Duration.ofMillis(2);
  private static final String RUN = "run";

  private final ControlGroupLayout layout;
  private final String instance;
  private final SandboxId id;

  SandboxGroups(ControlGroupLayout layout, String instance, SandboxId id) {
    this.layout = layout;
    this.instance = instance;
    this.id = id;
  }

  /** For the runtime: where process 1 goes, relative to every hierarchy. */
  String initPath() {
    return "/" + instance + "/" + id + "/init";
  }

  void create(Resources resources) {
    if (layout.unified()) {
      createUnified(resources);
    } else {
      createSeparate(resources);
    }
  }

  /** The group of an execution, made now. */
  ExecutionGroup makeExecution(long number) {
    ExecutionGroup group = execution(number);
    group.make();
    return group;
  }

  /** The group of an execution, which may be gone. */
  ExecutionGroup execution(long number) {
    return new ExecutionGroup(
        runGroups().stream().map(run -> run.resolve(ExecutionGroup.name(number))).toList());
  }

  /** Numbers of the executions that have a group. */
  Set<Long> executions() {
    Set<Long> numbers = new TreeSet<>();
    for (Path run : runGroups()) {
      for (Path child : ControlGroupFiles.children(run)) {
        ExecutionGroup.number(child.getFileName().toString()).ifPresent(numbers::add);
      }
    }
    return numbers;
  }

  /** Kills all processes of the sandbox, process 1 as well. */
  void killAll() {
    GroupKiller.kill(sandbox(killRoot()), KILL_LIMIT);
  }

  /** Of the whole sandbox, its process 1 as well. */
  Freezer freezer() {
    return new Freezer(sandbox(killRoot()));
  }

  /** The processes users run, on the host. */
  List<Long> userProcesses() {
    return ControlGroupFiles.processes(sandbox(killRoot()).resolve(RUN));
  }

  /** True when no process is in any of the sandbox's groups. */
  boolean isEmpty() {
    return ControlGroupFiles.processes(sandbox(killRoot())).isEmpty();
  }

  /** Removes all groups; the processes are dead, but the last may be on its way out. */
  void remove() {
    long deadline = System.nanoTime() + REMOVE_LIMIT.toNanos();
    for (Path root : layout.roots()) {
      while (!ControlGroupFiles.remove(sandbox(root))) {
        if (System.nanoTime() - deadline > 0) {
          throw new NodeException(
              "Cannot remove the control group "
                  + sandbox(root)
                  + ": it is still in use by "
                  + ControlGroupFiles.processes(sandbox(root)));
        }
        pause();
      }
    }
    for (Path hidden : layout.hidden()) {
      removePlain(sandbox(hidden));
    }
  }

  long memoryBytes() {
    return layout.unified()
        ? ControlGroupFiles.readNumber(sandbox(killRoot()).resolve("memory.current"))
        : ControlGroupFiles.readNumber(
            sandbox(controller("memory")).resolve("memory.usage_in_bytes"));
  }

  /** Processes that the kernel has killed so far because the sandbox was out of memory. */
  long memoryKills() {
    if (layout.unified()) {
      return MemoryKills.read(sandbox(killRoot()).resolve("memory.events"));
    }
    // Version 1 counts in the group of the process that was killed.
    Path memory = sandbox(controller("memory"));
    long kills = MemoryKills.read(memory.resolve("memory.oom_control"));
    for (Path child : ControlGroupFiles.children(memory)) {
      kills += MemoryKills.read(child.resolve("memory.oom_control"));
    }
    return kills;
  }

  private void createUnified(Resources resources) {
    Path root = layout.roots().getFirst();
    Path group = sandbox(root);
    ControlGroupFiles.make(group);
    Path level = root;
    for (Path name : root.relativize(group)) {
      ControllerSwitch.enable(level);
      level = level.resolve(name);
    }
    ControllerSwitch.enable(group);
    ControlGroupFiles.write(group.resolve("memory.max"), memoryLimit(resources));
    ControlGroupFiles.writeIfPresent(group.resolve("memory.swap.max"), "0");
    // The offender dies, not the sandbox.
    ControlGroupFiles.writeIfPresent(group.resolve("memory.oom.group"), "0");
    ControlGroupFiles.write(
        group.resolve("cpu.max"), cpuQuota(resources) + " " + CPU_PERIOD_MICROS);
    ControlGroupFiles.write(group.resolve("pids.max"), processLimit(resources));
    ControlGroupFiles.make(group.resolve(RUN));
    ControlGroupFiles.write(group.resolve(RUN).resolve("pids.max"), runLimit(resources));
  }

  private void createSeparate(Resources resources) {
    Path memory = sandbox(controller("memory"));
    ControlGroupFiles.make(memory);
    ControlGroupFiles.writeIfPresent(memory.resolve("memory.use_hierarchy"), "1");
    ControlGroupFiles.write(memory.resolve("memory.limit_in_bytes"), memoryLimit(resources));
    // Memory plus swap; present only where the kernel accounts swap.
    ControlGroupFiles.writeIfPresent(
        memory.resolve("memory.memsw.limit_in_bytes"), memoryLimit(resources));
    Path cpu = sandbox(controller("cpu"));
    ControlGroupFiles.make(cpu);
    ControlGroupFiles.write(cpu.resolve("cpu.cfs_period_us"), Integer.toString(CPU_PERIOD_MICROS));
    ControlGroupFiles.write(cpu.resolve("cpu.cfs_quota_us"), Long.toString(cpuQuota(resources)));
    runGroups().forEach(ControlGroupFiles::make);
    Path pids = sandbox(controller("pids"));
    ControlGroupFiles.write(pids.resolve("pids.max"), processLimit(resources));
    ControlGroupFiles.write(pids.resolve(RUN).resolve("pids.max"), runLimit(resources));
  }

  private List<Path> runGroups() {
    List<Path> roots =
        layout.unified() ? layout.roots() : List.of(controller("freezer"), controller("pids"));
    return roots.stream().distinct().map(root -> sandbox(root).resolve(RUN)).toList();
  }

  private Path killRoot() {
    return layout.unified() ? layout.roots().getFirst() : controller("freezer");
  }

  private Path controller(String name) {
    Path mount = layout.controllers().get(name);
    if (mount == null) {
      throw new NodeException("The control group controller " + name + " is not mounted");
    }
    return mount;
  }

  private Path sandbox(Path root) {
    return root.resolve(instance).resolve(id.value());
  }

  private static String memoryLimit(Resources resources) {
    return Long.toString(resources.memoryMib() * 1024L * 1024L);
  }

  private static long cpuQuota(Resources resources) {
    return (long) resources.vcpus() * CPU_PERIOD_MICROS;
  }

  private static String processLimit(Resources resources) {
    return Integer.toString(resources.processes());
  }

  private static String runLimit(Resources resources) {
    return Integer.toString(resources.processes() - RESERVED_PROCESSES);
  }

  /** Plain files and directories, made by the runtime as the host's root. */
  private static void removePlain(Path directory) {
    if (!Files.isDirectory(directory)) {
      return;
    }
    try (var tree = Files.walk(directory)) {
      List<Path> paths = new ArrayList<>(tree.toList());
      for (Path path : paths.reversed()) {
        Files.deleteIfExists(path);
      }
    } catch (IOException e) {
      throw new NodeException("Cannot remove " + directory, e);
    }
  }

  private static void pause() {
    try {
      Thread.sleep(REMOVE_PAUSE);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new NodeException("Interrupted while removing control groups", e);
    }
  }
}
