package dev.hopx.channel;

import java.time.Instant;

/**
 * What the guest says of a file.
 *
 * @param path the resolved path, or the name alone in a listing
 * @param mode permission bits, 0 to 07777
 * @param size bytes
 * @param linkTarget empty unless {@code kind} is {@code LINK}
 */
public record FileStat(
    String path,
    Kind kind,
    int mode,
    long uid,
    long gid,
    long size,
    Instant modified,
    long inode,
    String linkTarget) {
  /** Kind of a directory entry. */
  public enum Kind {
    FILE,
    DIRECTORY,
    LINK,
    /** FIFO, socket or device. */
    OTHER
  }
}
