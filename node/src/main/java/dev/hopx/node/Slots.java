package dev.hopx.node;

import java.util.BitSet;
import java.util.concurrent.locks.ReentrantLock;

/** Gives out slots. A slot that was given back is taken again as late as possible. */
final class Slots {
  /** Keeps the highest uid of the default base below 2^31. */
  static final int MAX_SLOTS = 16_384;

  private final String linkPrefix;
  private final Subnet subnet;
  private final long uidBase;
  private final int count;
  private final ReentrantLock lock = new ReentrantLock();
  private final BitSet taken = new BitSet();
  private int next;

  Slots(String linkPrefix, Subnet subnet, long uidBase) {
    this.linkPrefix = linkPrefix;
    this.subnet = subnet;
    this.uidBase = uidBase;
    long ranges = (IdRange.HIGHEST_ID + 1 - uidBase) / IdRange.SIZE;
    this.count = (int) Math.min(Math.min(subnet.hosts(), ranges), MAX_SLOTS);
  }

  int count() {
    return count;
  }

  Slot take() {
    lock.lock();
    try {
      int number = taken.nextClearBit(next);
      if (number >= count) {
        number = taken.nextClearBit(0);
      }
      if (number >= count) {
        throw new NodeException(
            "All "
                + count
                + " sandbox slots of this node are in use (sandbox-subnet "
                + subnet
                + ", uid-base "
                + uidBase
                + "); delete sandboxes or choose a larger subnet");
      }
      taken.set(number);
      next = number + 1;
      return slot(number);
    } finally {
      lock.unlock();
    }
  }

  /** Marks a slot as taken that an earlier server gave out, whatever the options were then. */
  void reserve(Slot slot) {
    lock.lock();
    try {
      taken.set(slot.number());
      next = Math.max(next, slot.number() + 1);
    } finally {
      lock.unlock();
    }
  }

  void giveBack(Slot slot) {
    lock.lock();
    try {
      taken.clear(slot.number());
    } finally {
      lock.unlock();
    }
  }

  private Slot slot(int number) {
    return new Slot(
        number,
        new IdRange(uidBase + (long) number * IdRange.SIZE),
        subnet.host(number),
        linkPrefix + number);
  }
}
