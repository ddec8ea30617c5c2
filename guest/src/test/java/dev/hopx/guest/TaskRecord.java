package dev.hopx.guest;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.Optional;

/** The result record of a worker. */
record TaskRecord(int code, String path, Optional<Stat> stat) {
  static final int NOT_PERMITTED = 1;
  static final int NO_ENTRY = 2;
  static final int ACCESS_DENIED = 13;
  static final int BUSY = 16;
  static final int EXISTS = 17;
  static final int NOT_DIRECTORY = 20;
  static final int IS_DIRECTORY = 21;
  static final int INVALID = 22;
  static final int NAME_TOO_LONG = 36;
  static final int NOT_EMPTY = 39;
  static final int TOO_MANY_LINKS = 40;
  static final int REFUSED = 111;
  static final int OUTSIDE = 1001;
  static final int NOT_REGULAR = 1002;
  static final int UNRESOLVED = 1003;

  static TaskRecord read(ByteBuffer buffer) {
    int code = buffer.getInt();
    String path = text(buffer);
    Optional<Stat> stat =
        buffer.get() == 1 ? Optional.of(Stat.read(buffer)) : Optional.<Stat>empty();
    if (buffer.hasRemaining()) {
      throw new AssertionError(buffer.remaining() + " bytes behind the record");
    }
    return new TaskRecord(code, path, stat);
  }

  static String text(ByteBuffer buffer) {
    byte[] bytes = new byte[buffer.getInt()];
    buffer.get(bytes);
    return new String(bytes, UTF_8);
  }

  record Stat(
      int kind,
      int mode,
      int uid,
      int gid,
      long size,
      long seconds,
      int nanoseconds,
      long inode,
      String link) {
    static final int FILE = 1;
    static final int DIRECTORY = 2;
    static final int LINK = 3;
    static final int OTHER = 4;

    static Stat read(ByteBuffer buffer) {
      return new Stat(
          buffer.get(),
          buffer.getInt(),
          buffer.getInt(),
          buffer.getInt(),
          buffer.getLong(),
          buffer.getLong(),
          buffer.getInt(),
          buffer.getLong(),
          text(buffer));
    }
  }
}
