package dev.hopx.channel;

import java.time.Duration;

/** Something that happens later unless it is called off. Owns one virtual thread until then. */
final class Deadline implements AutoCloseable {
  private final Thread thread;

  private Deadline(Thread thread) {
    this.thread = thread;
  }

  static Deadline after(String name, Duration delay, Runnable action) {
    return new Deadline(
        Thread.ofVirtual()
            .name(name)
            .start(
                () -> {
                  try {
                    Thread.sleep(delay);
                  } catch (InterruptedException e) {
                    return;
                  }
                  action.run();
                }));
  }

  @Override
  public void close() {
    if (Thread.currentThread() != thread) {
      thread.interrupt();
    }
  }
}
