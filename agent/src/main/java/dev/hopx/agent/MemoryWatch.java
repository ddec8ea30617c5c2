package dev.hopx.agent;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Finds out which runs of a sandbox ended for want of memory. The kernel counts what it kills per
 * sandbox, not per run: of runs that overlapped, only those whose leader was killed are taken to be
 * meant, so that a run is never blamed for its neighbour's appetite.
 */
final class MemoryWatch {
  private final AgentSandbox sandbox;
  private final ReentrantLock lock = new ReentrantLock();
  private final Set<Run> running = new HashSet<>();

  MemoryWatch(AgentSandbox sandbox) {
    this.sandbox = sandbox;
  }

  /** To be closed when the run has ended. */
  Run begin() {
    Run run = new Run(sandbox.memoryKills());
    lock.lock();
    try {
      running.add(run);
      if (running.size() > 1) {
        running.forEach(overlapping -> overlapping.alone = false);
      }
    } finally {
      lock.unlock();
    }
    return run;
  }

  /** One run under way. */
  final class Run implements AutoCloseable {
    private final long killsBefore;

    /** Guarded by the lock. */
    private boolean alone = true;

    private Run(long killsBefore) {
      this.killsBefore = killsBefore;
    }

    /** The outcome, and that it was for want of memory if so. */
    RunOutcome judge(RunOutcome outcome) {
      if (outcome.timedOut() || sandbox.memoryKills() <= killsBefore) {
        return outcome;
      }
      return outcome.exitCode() == RunOutcome.KILLED || isAlone()
          ? outcome.outOfMemory(sandbox.resources().memoryMib())
          : outcome;
    }

    private boolean isAlone() {
      lock.lock();
      try {
        return alone;
      } finally {
        lock.unlock();
      }
    }

    @Override
    public void close() {
      lock.lock();
      try {
        running.remove(this);
      } finally {
        lock.unlock();
      }
    }
  }
}
