package dev.hopx.node;

/**
 * Limits of a sandbox.
 *
 * @param vcpus whole processors, 1 to 64 (as a CPU quota)
 * @param memoryMib MiB, 64 to 1,048,576
 * @param diskMib MiB
 * @param processes highest number of processes and threads, 64 to 4,194,304; a part of it is
 *     reserved for hopx-init
 */
public record Resources(int vcpus, int memoryMib, int diskMib, int processes) {
  public static final int DEFAULT_PROCESSES = 4096;

  public Resources {
    require(vcpus >= 1 && vcpus <= 64, "vcpus must be 1 to 64");
    require(memoryMib >= 64 && memoryMib <= 1_048_576, "memoryMib must be 64 to 1048576");
    require(diskMib >= 1, "diskMib must be positive");
    require(processes >= 64 && processes <= 4_194_304, "processes must be 64 to 4194304");
  }

  private static void require(boolean condition, String message) {
    if (!condition) {
      throw new IllegalArgumentException(message);
    }
  }
}
