package dev.hopx.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What an idle sandbox costs: proportional share of its process 1 and kernel memory charged. */
final class Memory {
  private static final Path V1 = Path.of("/sys/fs/cgroup/memory");
  private static final Path V2 = Path.of("/sys/fs/cgroup");

  private Memory() {}

  /** MiB. */
  static double idleMib(String instance, String sandboxId) {
    try {
      boolean v1 = Files.isDirectory(V1);
      Path group = (v1 ? V1 : V2).resolve(instance).resolve(sandboxId);
      String pid =
          Files.readString(group.resolve("init/cgroup.procs")).lines().findFirst().orElse("");
      long pss = field(Path.of("/proc", pid, "smaps_rollup"), "Pss:") * 1024;
      long kernel =
          v1
              ? Long.parseLong(
                  Files.readString(group.resolve("memory.kmem.usage_in_bytes")).strip())
              : field(group.resolve("memory.stat"), "kernel ");
      return (pss + kernel) / 1048576.0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static long field(Path file, String name) throws IOException {
    return Files.readString(file)
        .lines()
        .filter(line -> line.startsWith(name))
        .map(line -> line.substring(name.length()).strip().split(" ", 2)[0])
        .mapToLong(Long::parseLong)
        .findFirst()
        .orElseThrow(() -> new IOException("No line " + name + " in " + file));
  }
}
