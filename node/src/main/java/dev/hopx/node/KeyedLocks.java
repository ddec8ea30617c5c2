package dev.hopx.node;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/** One action at a time for each key; keeps nothing of a key that nobody uses. */
final class KeyedLocks<K> {
  private static final class Entry {
    private final ReentrantLock lock = new ReentrantLock();
    private int users;
  }

  /** The map's own atomicity guards {@code users}. */
  private final Map<K, Entry> entries = new ConcurrentHashMap<>();

  <T> T with(K key, Supplier<T> action) {
    Entry entry =
        entries.compute(
            key,
            (_, present) -> {
              Entry used = present == null ? new Entry() : present;
              used.users++;
              return used;
            });
    entry.lock.lock();
    try {
      return action.get();
    } finally {
      entry.lock.unlock();
      entries.computeIfPresent(key, (_, used) -> --used.users == 0 ? null : used);
    }
  }

  /** Waits until the actions under way have ended. */
  void awaitAll() {
    for (K key : entries.keySet()) {
      with(key, () -> key);
    }
  }

  int size() {
    return entries.size();
  }
}
