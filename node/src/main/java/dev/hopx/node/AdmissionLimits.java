package dev.hopx.node;

/**
 * When a node refuses to make another sandbox, so that those it has, and the host, go on well.
 *
 * @param maxSandboxes sandboxes at a time, stopped ones as well, 1 to 1,000,000
 * @param maxMemoryMib sum of the sandboxes' memory limits in MiB; 0: no such bound, because idle
 *     sandboxes take a thousandth of their limits
 * @param minFreeMemoryMib MiB that the host has available at least, or no sandbox is made
 * @param minFreeDiskMib MiB that are free on the disk of the data directory, or no sandbox is made
 */
public record AdmissionLimits(
    int maxSandboxes, long maxMemoryMib, long minFreeMemoryMib, long minFreeDiskMib) {
  public static final AdmissionLimits DEFAULT = new AdmissionLimits(1000, 0, 1024, 2048);

  public AdmissionLimits {
    require(maxSandboxes >= 1 && maxSandboxes <= 1_000_000, "maxSandboxes must be 1 to 1000000");
    require(maxMemoryMib >= 0, "maxMemoryMib must not be negative");
    require(minFreeMemoryMib >= 0, "minFreeMemoryMib must not be negative");
    require(minFreeDiskMib >= 0, "minFreeDiskMib must not be negative");
  }

  private static void require(boolean condition, String message) {
    if (!condition) {
      throw new IllegalArgumentException(message);
    }
  }
}
