package dev.hopx.control;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/** One lock for each key somebody holds or waits for. Thread-safe. */
final class KeyedLocks {
  private final Map<String, Entry> entries = new HashMap<>();

  /** Waits until nobody else holds the key; empty when that takes too long. */
  Optional<Held> tryAcquire(String key, Duration timeout) throws InterruptedException {
    Entry entry = enter(key);
    boolean acquired = false;
    try {
      acquired = entry.lock.tryLock(timeout.toNanos(), TimeUnit.NANOSECONDS);
    } finally {
      if (!acquired) {
        leave(key, entry);
      }
    }
    return acquired ? Optional.of(new Held(key, entry)) : Optional.empty();
  }

  /** Waits until nobody else holds the key. */
  Held acquire(String key) {
    Entry entry = enter(key);
    entry.lock.lock();
    return new Held(key, entry);
  }

  /** How many keys are held or waited for. */
  int size() {
    synchronized (entries) {
      return entries.size();
    }
  }

  private Entry enter(String key) {
    synchronized (entries) {
      Entry entry = entries.computeIfAbsent(key, _ -> new Entry());
      entry.users++;
      return entry;
    }
  }

  private void leave(String key, Entry entry) {
    synchronized (entries) {
      entry.users--;
      if (entry.users == 0) {
        entries.remove(key);
      }
    }
  }

  /** A lock with the number of those who hold it or wait for it. */
  private static final class Entry {
    private final ReentrantLock lock = new ReentrantLock();
    private int users;
  }

  /** A key held by the thread that acquired it; that thread closes it. */
  final class Held implements AutoCloseable {
    private final String key;
    private final Entry entry;

    private Held(String key, Entry entry) {
      this.key = key;
      this.entry = entry;
    }

    @Override
    public void close() {
      entry.lock.unlock();
      leave(key, entry);
    }
  }
}
