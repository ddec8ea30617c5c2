package dev.hopx.channel;

import java.io.IOException;
import java.io.InputStream;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.Optional;

/** The answer of a worker on channel 2, and the stat structure that lists use as well. */
record ResultRecord(int code, String path, Optional<FileStat> stat) {
  /** More than the longest record; a worker needs no more credit. */
  static final int WINDOW = 16_384;

  private static final int MAX_MODE = 07777;
  private static final int NANOSECONDS = 1_000_000_000;

  static ResultRecord read(InputStream channel) throws IOException, ProtocolViolation {
    FieldInput input = new FieldInput(channel);
    int code = (int) input.u32();
    String path = input.string(Protocol.MAX_RESOLVED_PATH);
    int hasStat = input.u8();
    if (code < 0 || hasStat > 1) {
      throw new ProtocolViolation("A result with code " + code + " and stat " + hasStat);
    }
    return new ResultRecord(
        code, path, hasStat == 1 ? Optional.of(stat(input, path)) : Optional.empty());
  }

  static FileStat stat(FieldInput input, String path) throws IOException, ProtocolViolation {
    int kind = input.u8();
    long mode = input.u32();
    long uid = input.u32();
    long gid = input.u32();
    long size = input.i64();
    long seconds = input.i64();
    long nanoseconds = input.u32();
    long inode = input.i64();
    String target = input.string(Protocol.MAX_PATH);
    if (mode > MAX_MODE || size < 0) {
      throw new ProtocolViolation("A stat with mode %o and size %d".formatted(mode, size));
    }
    return new FileStat(
        path, kind(kind), (int) mode, uid, gid, size, instant(seconds, nanoseconds), inode, target);
  }

  private static FileStat.Kind kind(int number) throws ProtocolViolation {
    return switch (number) {
      case 1 -> FileStat.Kind.FILE;
      case 2 -> FileStat.Kind.DIRECTORY;
      case 3 -> FileStat.Kind.LINK;
      case 4 -> FileStat.Kind.OTHER;
      default -> throw new ProtocolViolation("A stat of kind " + number);
    };
  }

  /** A file's time is whatever its owner set: what no calendar holds becomes the nearest one. */
  private static Instant instant(long seconds, long nanoseconds) throws ProtocolViolation {
    if (nanoseconds >= NANOSECONDS) {
      throw new ProtocolViolation("A time with " + nanoseconds + " nanoseconds");
    }
    try {
      return Instant.ofEpochSecond(seconds, nanoseconds);
    } catch (DateTimeException e) {
      return seconds < 0 ? Instant.MIN : Instant.MAX;
    }
  }
}
