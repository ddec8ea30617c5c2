package dev.hopx.control;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.atomic.AtomicReference;

/** The real clock, set forward at will. */
final class TestClock implements InstantSource {
  private final AtomicReference<Duration> ahead = new AtomicReference<>(Duration.ZERO);

  void advance(Duration duration) {
    ahead.updateAndGet(duration::plus);
  }

  @Override
  public Instant instant() {
    return Instant.now().plus(ahead.get());
  }
}
