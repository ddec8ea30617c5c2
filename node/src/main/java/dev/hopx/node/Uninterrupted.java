package dev.hopx.node;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/**
 * Runs what must not be left half-way on a thread of its own. The caller may be interrupted (its
 * HTTP request was dropped, say), and on an interrupted thread every file operation of the JDK
 * fails.
 */
final class Uninterrupted {
  private Uninterrupted() {}

  static void run(Runnable action) {
    call(
        () -> {
          action.run();
          return true;
        });
  }

  /** Waits for the result whatever happens; an interrupt that came is set again at the end. */
  static <T> T call(Callable<T> action) {
    FutureTask<T> task = new FutureTask<>(action);
    Thread.ofVirtual().name("node-uninterrupted").start(task);
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return task.get();
        } catch (InterruptedException _) {
          interrupted = true;
        }
      }
    } catch (ExecutionException e) {
      if (e.getCause() instanceof RuntimeException failure) {
        throw failure;
      }
      if (e.getCause() instanceof Error failure) {
        throw failure;
      }
      throw new NodeException("Unexpected failure", e);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
