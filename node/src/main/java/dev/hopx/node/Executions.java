package dev.hopx.node;

import dev.hopx.channel.GuestException;
import dev.hopx.channel.SpawnHook;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The executions of one sandbox and their control groups. A group lives while somebody holds the
 * execution or a process is in it: a server that a command left in the background, say. Such groups
 * are looked at again by {@link #sweep}.
 */
final class Executions {
  private final SandboxGroups groups;
  private final ProcessIdentity init;
  private final AtomicLong lastNumber;
  private final Set<Long> leftBehind = ConcurrentHashMap.newKeySet();

  Executions(SandboxGroups groups, ProcessIdentity init) {
    this.groups = groups;
    this.init = init;
    // Numbers of different servers for one sandbox must differ; those of a server ascend.
    this.lastNumber = new AtomicLong(System.currentTimeMillis());
    Set<Long> present = groups.executions();
    leftBehind.addAll(present);
    present.stream().max(Long::compare).ifPresent(number -> advance(number));
  }

  private void advance(long number) {
    lastNumber.accumulateAndGet(number, Math::max);
  }

  Execution open() {
    return new Execution(lastNumber.incrementAndGet());
  }

  /** An execution of an earlier server that goes on. */
  Execution adopt(long number) {
    leftBehind.remove(number);
    return new Execution(number);
  }

  /** Kills what an earlier server left in the foreground. */
  void end(long number) {
    Execution execution = adopt(number);
    execution.killTree();
    execution.released();
  }

  /** Removes the groups that have become empty. */
  void sweep() {
    leftBehind.removeIf(number -> groups.execution(number).removeIfEmpty());
  }

  /** One execution; what its process's owner calls. */
  final class Execution implements SpawnHook {
    private final long number;

    private Execution(long number) {
      this.number = number;
    }

    long number() {
      return number;
    }

    @Override
    public void placed(int guestPid) {
      try {
        groups.makeExecution(number).add(GuestPids.hostPid(init, guestPid));
      } catch (NodeException e) {
        GuestException.Kind kind =
            init.isAlive() ? GuestException.Kind.IO : GuestException.Kind.LOST;
        throw new GuestException(
            kind, "The process could not be put under control: " + e.getMessage(), e);
      }
    }

    @Override
    public void killTree() {
      Uninterrupted.run(() -> groups.execution(number).kill());
    }

    @Override
    public void released() {
      if (!groups.execution(number).removeIfEmpty()) {
        leftBehind.add(number);
      }
    }
  }
}
