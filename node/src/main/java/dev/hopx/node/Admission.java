package dev.hopx.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Decides whether there is room for another sandbox. Those under creation count, so that many at
 * once do not slip in together.
 */
final class Admission {
  private static final Path MEMORY = Path.of("/proc/meminfo");
  private static final String AVAILABLE = "MemAvailable:";

  private final AdmissionLimits limits;
  private final Path dataDirectory;
  private final ReentrantLock lock = new ReentrantLock();

  /** Memory limits in MiB of the sandboxes that are, or are being made. */
  private final Map<SandboxId, Integer> admitted = new HashMap<>();

  private long memoryMib;

  Admission(AdmissionLimits limits, Path dataDirectory) {
    this.limits = limits;
    this.dataDirectory = dataDirectory;
  }

  /**
   * Makes room for a sandbox.
   *
   * @throws NodeFullException when there is none
   */
  void admit(SandboxId id, Resources resources) {
    lock.lock();
    try {
      requireRoom(resources);
      add(id, resources);
    } finally {
      lock.unlock();
    }
  }

  /** Counts a sandbox that is there already. */
  void adopt(SandboxId id, Resources resources) {
    lock.lock();
    try {
      add(id, resources);
    } finally {
      lock.unlock();
    }
  }

  private void add(SandboxId id, Resources resources) {
    release(id);
    admitted.put(id, resources.memoryMib());
    memoryMib += resources.memoryMib();
  }

  /** Idempotent. */
  void release(SandboxId id) {
    lock.lock();
    try {
      Integer memory = admitted.remove(id);
      if (memory != null) {
        memoryMib -= memory;
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * @throws NodeFullException when another sandbox with these resources would be refused now
   */
  void requireRoom(Resources resources) {
    lock.lock();
    try {
      if (admitted.size() >= limits.maxSandboxes()) {
        throw new NodeFullException(
            "there are %d sandboxes (max-sandboxes)".formatted(admitted.size()));
      }
      if (limits.maxMemoryMib() > 0 && memoryMib + resources.memoryMib() > limits.maxMemoryMib()) {
        throw new NodeFullException(
            "the sandboxes may take %d MiB of memory, and %d more would exceed %d (max-memory)"
                .formatted(memoryMib, resources.memoryMib(), limits.maxMemoryMib()));
      }
    } finally {
      lock.unlock();
    }
    requireFreeMemory();
    requireFreeDisk();
  }

  private void requireFreeMemory() {
    if (limits.minFreeMemoryMib() == 0) {
      return;
    }
    try {
      long available = availableMib(Files.readAllLines(MEMORY));
      if (available < limits.minFreeMemoryMib()) {
        throw new NodeFullException(
            "the host has %d MiB of memory available, less than %d (min-free-memory)"
                .formatted(available, limits.minFreeMemoryMib()));
      }
    } catch (IOException e) {
      throw new NodeException("Cannot read " + MEMORY, e);
    }
  }

  static long availableMib(List<String> lines) {
    for (String line : lines) {
      if (line.startsWith(AVAILABLE)) {
        return Long.parseLong(line.substring(AVAILABLE.length()).replace("kB", "").strip()) >> 10;
      }
    }
    throw new NodeException(MEMORY + " does not say how much memory is available");
  }

  private void requireFreeDisk() {
    if (limits.minFreeDiskMib() == 0) {
      return;
    }
    try {
      long free = Files.getFileStore(dataDirectory).getUsableSpace() >> 20;
      if (free < limits.minFreeDiskMib()) {
        throw new NodeFullException(
            "%d MiB are free on the disk of the data directory, less than %d (min-free-disk)"
                .formatted(free, limits.minFreeDiskMib()));
      }
    } catch (IOException e) {
      throw new NodeException("Cannot look at the disk of " + dataDirectory, e);
    }
  }
}
