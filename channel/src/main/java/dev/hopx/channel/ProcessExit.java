package dev.hopx.channel;

import java.time.Duration;
import java.util.OptionalInt;

/**
 * How a process ended.
 *
 * @param status exit status 0 to 255, or empty when a signal ended it
 * @param signal the signal's number, or empty when it exited
 * @param maxResidentKib peak resident size in KiB
 */
public record ProcessExit(
    OptionalInt status,
    OptionalInt signal,
    Duration userTime,
    Duration systemTime,
    long maxResidentKib) {
  /** As a shell gives it: the status, or 128 + the signal's number. */
  public int shellCode() {
    return status.isPresent() ? status.getAsInt() : 128 + signal.orElse(0);
  }
}
