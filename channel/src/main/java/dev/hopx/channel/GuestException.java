package dev.hopx.channel;

import java.io.Serial;

/** A request to a guest failed. The message names the path or program it was about. */
public final class GuestException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1;

  private final Kind kind;
  private final int errno;

  public GuestException(Kind kind, int errno, String message) {
    super(message);
    this.kind = kind;
    this.errno = errno;
  }

  public GuestException(Kind kind, String message, Throwable cause) {
    super(message, cause);
    this.kind = kind;
    this.errno = 0;
  }

  private GuestException(Kind kind, int errno, String message, GuestException cause) {
    super(message, cause);
    this.kind = kind;
    this.errno = errno;
  }

  /** The same failure with the stack of the thread that meets it now. */
  static GuestException again(GuestException first) {
    return new GuestException(first.kind, first.errno, first.text(), first);
  }

  /** The same failure of which more is known. */
  static GuestException about(String what, GuestException first) {
    return new GuestException(first.kind, first.errno, what + ": " + first.text(), first);
  }

  /** The same failure, seen as a connection that cannot be made. */
  static GuestException unreachable(GuestException first) {
    return new GuestException(Kind.UNREACHABLE, first.errno, first.text(), first);
  }

  private String text() {
    return String.valueOf(getMessage());
  }

  public Kind kind() {
    return kind;
  }

  /** Linux error number, 0 where none applies. */
  public int errno() {
    return errno;
  }

  /** What went wrong. */
  public enum Kind {
    NOT_FOUND,
    ALREADY_EXISTS,
    NOT_A_DIRECTORY,
    IS_A_DIRECTORY,
    DIRECTORY_NOT_EMPTY,
    PERMISSION_DENIED,
    /** The path ends outside the roots. */
    OUTSIDE_ROOTS,
    /** A FIFO, socket or device where a file is wanted. */
    NOT_A_REGULAR_FILE,
    DISK_FULL,
    /** Name or path too long, too many links, an invalid argument. */
    INVALID_PATH,
    /** Argument list or environment too large. */
    TOO_LARGE,
    /** No more processes, descriptors or memory inside. */
    EXHAUSTED,
    /** Not an executable format, or a missing interpreter. */
    NOT_EXECUTABLE,
    /** A connection from inside was refused or its name not resolved. */
    UNREACHABLE,
    /** Any other error number. */
    IO,
    /** The connection to the guest is gone, or the sandbox is. */
    LOST,
    /** The guest broke the protocol; its connection was cut. */
    PROTOCOL
  }
}
