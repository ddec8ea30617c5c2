package dev.hopx.control;

import java.util.Locale;

/** Why a sandbox ended; decides between 404 and 410 while its tombstone is kept. */
public enum EndReason {
  /** Somebody asked for it. */
  DELETED,
  /** Its timeout came. */
  EXPIRED,
  /** Its node no longer had it. */
  LOST;

  String storedName() {
    return name().toLowerCase(Locale.ROOT);
  }

  static EndReason ofStoredName(String name) {
    return valueOf(name.toUpperCase(Locale.ROOT));
  }
}
