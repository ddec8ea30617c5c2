package dev.hopx.node;

import java.util.ArrayDeque;
import java.util.Deque;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Undoes steps in reverse when it is closed before {@link #release}. All undoings are tried; their
 * failures are added to the failure under way. Used by one thread.
 */
final class CleanupStack {
  private static final Logger LOG = LoggerFactory.getLogger(CleanupStack.class);

  private record Undoing(String what, Runnable action) {}

  private final Deque<Undoing> undoings = new ArrayDeque<>();

  void push(String what, Runnable action) {
    undoings.push(new Undoing(what, action));
  }

  /** All went well: nothing is to be undone any more. */
  void release() {
    undoings.clear();
  }

  void undo(Throwable reason) {
    while (!undoings.isEmpty()) {
      Undoing undoing = undoings.pop();
      try {
        undoing.action().run();
      } catch (RuntimeException e) {
        LOG.warn("Cannot undo: {}: {}", undoing.what(), e.getMessage());
        reason.addSuppressed(e);
      }
    }
  }
}
