package dev.hopx.node;

import dev.hopx.channel.GuestProcess;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Children of a process that died with an earlier server. Its outputs are read and dropped while
 * they hold them, so that nobody is killed by his next line.
 */
final class Orphans {
  private static final Logger LOG = LoggerFactory.getLogger(Orphans.class);

  private Orphans() {}

  /** Closes {@code parent} when both of its outputs have ended. */
  static void release(GuestProcess parent) {
    Thread.ofVirtual()
        .name("orphans")
        .start(
            () -> {
              Thread errors =
                  Thread.ofVirtual().name("orphans-stderr").start(() -> drop(parent.stderr()));
              drop(parent.stdout());
              try {
                errors.join();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
              parent.close();
            });
  }

  private static void drop(InputStream output) {
    try (output) {
      output.transferTo(OutputStream.nullOutputStream());
    } catch (IOException gone) {
      LOG.trace("The sandbox is gone", gone);
    }
  }
}
