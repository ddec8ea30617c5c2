package dev.hopx.agent;

import java.time.Duration;

/** Says that a sandbox is paused or stopped, as a node would; freezes nothing. Thread-safe. */
final class TestPause {
  private boolean paused;
  private boolean stopped;
  private long since;
  private long total;

  synchronized void pause() {
    paused = true;
    since = System.nanoTime();
  }

  synchronized void resume() {
    paused = false;
    total += System.nanoTime() - since;
  }

  synchronized void stop(boolean now) {
    stopped = now;
  }

  synchronized boolean isPaused() {
    return paused;
  }

  synchronized boolean isStopped() {
    return stopped;
  }

  synchronized Duration time() {
    return Duration.ofNanos(paused ? total + System.nanoTime() - since : total);
  }
}
