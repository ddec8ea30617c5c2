package dev.hopx.channel;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/** Counts virtual threads by name; only a thread dump shows them. */
final class ChannelThreads {
  private static final long PATIENCE_NANOS = 5_000_000_000L;

  private ChannelThreads() {}

  static long count(String name) throws IOException {
    Path directory = Files.createTempDirectory("hopx-threads");
    Path dump = directory.resolve("dump.json");
    try {
      ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
          .dumpThreads(dump.toString(), HotSpotDiagnosticMXBean.ThreadDumpFormat.JSON);
      try (var lines = Files.lines(dump)) {
        return lines
            .filter(line -> line.contains("\"hopx-channel-") && line.contains(" " + name + "\""))
            .count();
      }
    } finally {
      Files.deleteIfExists(dump);
      Files.delete(directory);
    }
  }

  /** Fails unless all threads of the channel have ended soon. */
  static void awaitNone(String name) throws IOException {
    long deadline = System.nanoTime() + PATIENCE_NANOS;
    long left = count(name);
    while (left > 0 && System.nanoTime() < deadline) {
      LockSupport.parkNanos(20_000_000L);
      left = count(name);
    }
    if (left > 0) {
      throw new AssertionError(left + " threads of " + name + " are left");
    }
  }
}
