package dev.hopx.control;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Function;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;

/**
 * Runs units of work on the one writing connection. Those that wait while a commit reaches the disk
 * share the next one: a hundred concurrent writers cost a few syncs, not a hundred. Each unit has a
 * savepoint of its own, so that one that fails takes no other with it.
 *
 * <p>The units run on one platform thread, which this object owns.
 */
final class GroupCommit implements AutoCloseable {
  /** Bounds how long the first unit of a group waits for its commit. */
  static final int MAX_GROUP = 64;

  private final Jdbi jdbi;
  private final BlockingQueue<Unit<?>> queue = new LinkedBlockingQueue<>();
  private final Thread thread;
  private volatile boolean closed;

  GroupCommit(Jdbi jdbi) {
    this.jdbi = jdbi;
    this.thread = Thread.ofPlatform().name("store-writer").daemon(true).unstarted(this::loop);
    thread.start();
  }

  <T> T run(Function<Handle, T> work) {
    Unit<T> unit = new Unit<>(work);
    queue.add(unit);
    if (closed) {
      // The writer may have ended between the two; nobody else would fail this unit.
      failRest();
    }
    try {
      return unit.result.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw e;
    }
  }

  /** Finishes what is under way; what still waits fails. */
  @Override
  public void close() {
    closed = true;
    queue.add(new Unit<>(_ -> Boolean.TRUE));
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    failRest();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void failRest() {
    for (Unit<?> unit = queue.poll(); unit != null; unit = queue.poll()) {
      unit.fail(new IllegalStateException("The store is closed"));
    }
  }

  private void loop() {
    List<Unit<?>> group = new ArrayList<>();
    while (!closed) {
      try {
        group.add(queue.take());
      } catch (InterruptedException e) {
        // Nobody interrupts this thread; close() wakes it with an empty unit.
        continue;
      }
      queue.drainTo(group, MAX_GROUP - 1);
      commit(group);
      group.clear();
    }
  }

  private void commit(List<Unit<?>> group) {
    try {
      jdbi.useTransaction(
          handle -> {
            for (int i = 0; i < group.size(); i++) {
              group.get(i).work(handle, "unit" + i);
            }
          });
    } catch (RuntimeException | Error e) {
      group.forEach(unit -> unit.fail(e));
      return;
    }
    group.forEach(Unit::publish);
  }

  /** Work and its outcome, which nobody sees before it is on the disk. */
  private static final class Unit<T> {
    private final Function<Handle, T> work;
    private final CompletableFuture<T> result = new CompletableFuture<>();
    private Runnable outcome = () -> {};

    Unit(Function<Handle, T> work) {
      this.work = work;
    }

    void work(Handle handle, String savepoint) {
      handle.savepoint(savepoint);
      try {
        T value = work.apply(handle);
        handle.releaseSavepoint(savepoint);
        outcome = () -> result.complete(value);
      } catch (RuntimeException | Error e) {
        handle.rollbackToSavepoint(savepoint);
        outcome = () -> result.completeExceptionally(e);
      }
    }

    void publish() {
      outcome.run();
    }

    void fail(Throwable e) {
      result.completeExceptionally(e);
    }
  }
}
