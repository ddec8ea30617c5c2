package dev.hopx.control;

import dev.hopx.node.SandboxId;
import java.security.SecureRandom;
import java.time.InstantSource;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Makes ids of 18 characters: 13 digits of milliseconds and 5 random letters or digits. The digits
 * never repeat while the process lives, so two of its ids cannot be the same. They need not be hard
 * to guess, because a token guards each sandbox.
 */
final class SandboxIds {
  private static final String ALPHANUMERICS = "abcdefghijklmnopqrstuvwxyz0123456789";
  private static final int RANDOM_LENGTH = 5;

  private final InstantSource clock;
  private final SecureRandom random = new SecureRandom();
  private final AtomicLong latestMillis = new AtomicLong();

  SandboxIds(InstantSource clock) {
    this.clock = clock;
  }

  SandboxId next() {
    long now = clock.millis();
    long millis = latestMillis.updateAndGet(latest -> Math.max(now, latest + 1));
    StringBuilder id = new StringBuilder().append(millis);
    for (int i = 0; i < RANDOM_LENGTH; i++) {
      id.append(ALPHANUMERICS.charAt(random.nextInt(ALPHANUMERICS.length())));
    }
    return new SandboxId(id.toString());
  }
}
