package dev.hopx.control;

import java.util.BitSet;
import java.util.OptionalInt;

/**
 * The ports sandboxes' agents have. They are given out in a circle, so that a client that still
 * knows a dead sandbox's address does not meet the next one's agent there. Thread-safe.
 */
final class AgentPorts {
  private final int first;
  private final int last;
  private final BitSet taken = new BitSet();
  private int next;

  AgentPorts(int first, int last) {
    this.first = first;
    this.last = last;
    this.next = first;
  }

  /** A port no other sandbox has; empty when all are taken. */
  synchronized OptionalInt take() {
    int candidate = taken.nextClearBit(next);
    if (candidate > last) {
      candidate = taken.nextClearBit(first);
    }
    if (candidate > last) {
      return OptionalInt.empty();
    }
    taken.set(candidate);
    next = candidate == last ? first : candidate + 1;
    return OptionalInt.of(candidate);
  }

  /** Takes a port a sandbox has already; it may lie outside of a range that was changed since. */
  synchronized void take(int port) {
    taken.set(port);
    if (port >= first && port <= last && port >= next) {
      next = port == last ? first : port + 1;
    }
  }

  synchronized void release(int port) {
    taken.clear(port);
  }

  /** How many ports there are. */
  int size() {
    return last - first + 1;
  }
}
