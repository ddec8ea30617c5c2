package dev.hopx.agent;

import dev.hopx.channel.GuestProcess;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Processes that have ended and whose pipes are held by background children they left on purpose.
 * Their output is read and dropped, so that a server started with {@code &} is not killed by its
 * first log line. Owns the processes it is given.
 */
final class Leftovers {
  /** Of more, the oldest lose their pipes: a stream of the guest is a bounded good. */
  static final int MAX_KEPT = 256;

  private final Set<GuestProcess> kept = new LinkedHashSet<>();
  private final ReentrantLock lock = new ReentrantLock();

  /** Closes {@code process} when both streams have come to their ends. */
  void keep(GuestProcess process, OutputPump stdout, OutputPump stderr) {
    GuestProcess oldest = null;
    lock.lock();
    try {
      kept.add(process);
      if (kept.size() > MAX_KEPT) {
        Iterator<GuestProcess> oldestFirst = kept.iterator();
        oldest = oldestFirst.next();
        oldestFirst.remove();
      }
    } finally {
      lock.unlock();
    }
    if (oldest != null) {
      oldest.close();
    }
    Thread.ofVirtual().name("leftover").start(() -> closeAtEnd(process, stdout, stderr));
  }

  private void closeAtEnd(GuestProcess process, OutputPump stdout, OutputPump stderr) {
    try {
      stdout.awaitEnd();
      stderr.awaitEnd();
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
    } finally {
      lock.lock();
      try {
        kept.remove(process);
      } finally {
        lock.unlock();
      }
      process.close();
    }
  }

  int size() {
    lock.lock();
    try {
      return kept.size();
    } finally {
      lock.unlock();
    }
  }
}
