package dev.hopx.control;

import java.util.Locale;
import java.util.Optional;

/**
 * Where a sandbox is in its life (LIF-22). Persisted by name; moved by compare-and-set only.
 *
 * <p>{@code ERROR} is a sandbox whose process 1 ended by itself. It is not {@code STOPPED}, because
 * that promises a start with all files and halts the clock of its timeout (decision 10), while a
 * broken sandbox must still go away in time.
 */
public enum SandboxStatus {
  /** Being made; nobody knows its id yet, so it is neither listed nor found. */
  CREATING(false),
  RUNNING(true),
  PAUSED(true),
  STOPPED(true),
  ERROR(true),
  /** Gone for its users; its remains are being removed. */
  DELETING(false),
  /** Only its tombstone is left. */
  DELETED(false);

  private final boolean visible;

  SandboxStatus(boolean visible) {
    this.visible = visible;
  }

  /** True where the API shows the sandbox. */
  public boolean isVisible() {
    return visible;
  }

  /** Lower-case name as the API and the store have it. */
  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** By {@link #wireName()}. */
  public static Optional<SandboxStatus> ofWireName(String name) {
    for (SandboxStatus status : values()) {
      if (status.wireName().equals(name)) {
        return Optional.of(status);
      }
    }
    return Optional.empty();
  }
}
