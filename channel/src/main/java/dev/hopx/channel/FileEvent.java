package dev.hopx.channel;

import java.util.Optional;

/**
 * A change seen by a watch.
 *
 * @param path absolute guest path
 * @param oldPath for {@code RENAMED}
 */
public record FileEvent(Kind kind, boolean directory, String path, Optional<String> oldPath) {
  /** Kind of change. */
  public enum Kind {
    CREATED,
    MODIFIED,
    DELETED,
    RENAMED,
    /** Events were lost; look again. */
    OVERFLOW
  }
}
