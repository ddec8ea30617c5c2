package dev.hopx.channel;

/** Linux error numbers as they come from a guest. */
final class Errno {
  static final int E2BIG = 7;
  static final int EINVAL = 22;
  static final int ENAMETOOLONG = 36;
  static final int OUTSIDE = 1001;
  static final int NOT_REGULAR = 1002;
  static final int UNRESOLVED = 1003;

  private Errno() {}

  static GuestException.Kind kind(int errno) {
    return switch (errno) {
      case 2 -> GuestException.Kind.NOT_FOUND;
      case 17 -> GuestException.Kind.ALREADY_EXISTS;
      case 20 -> GuestException.Kind.NOT_A_DIRECTORY;
      case 21 -> GuestException.Kind.IS_A_DIRECTORY;
      case 39 -> GuestException.Kind.DIRECTORY_NOT_EMPTY;
      case 1, 13, 30 -> GuestException.Kind.PERMISSION_DENIED;
      case 28, 122 -> GuestException.Kind.DISK_FULL;
      case EINVAL, ENAMETOOLONG, 40 -> GuestException.Kind.INVALID_PATH;
      case E2BIG -> GuestException.Kind.TOO_LARGE;
      case 11, 12, 23, 24 -> GuestException.Kind.EXHAUSTED;
      case 8, 80 -> GuestException.Kind.NOT_EXECUTABLE;
      case 99, 101, 104, 110, 111, 112, 113, UNRESOLVED -> GuestException.Kind.UNREACHABLE;
      case OUTSIDE -> GuestException.Kind.OUTSIDE_ROOTS;
      case NOT_REGULAR -> GuestException.Kind.NOT_A_REGULAR_FILE;
      default -> GuestException.Kind.IO;
    };
  }

  static String text(int errno) {
    return switch (errno) {
      case 1 -> "operation not permitted";
      case 2 -> "no such file or directory";
      case 8, 80 -> "not an executable format";
      case E2BIG -> "argument list too long";
      case 11 -> "no more processes possible";
      case 12 -> "out of memory";
      case 13 -> "permission denied";
      case 16 -> "busy";
      case 17 -> "it exists already";
      case 18 -> "on another file system";
      case 20 -> "not a directory";
      case 21 -> "is a directory";
      case EINVAL -> "invalid argument";
      case 23, 24 -> "too many open files";
      case 26 -> "text file busy";
      case 27 -> "file too large";
      case 28 -> "no space left on the disk";
      case 30 -> "read-only file system";
      case ENAMETOOLONG -> "name too long";
      case 39 -> "directory not empty";
      case 40 -> "too many links";
      case 101 -> "network unreachable";
      case 104 -> "connection reset";
      case 110 -> "timed out";
      case 111 -> "connection refused";
      case 113 -> "no route to the host";
      case 122 -> "disk quota exceeded";
      case OUTSIDE -> "outside the permitted directories";
      case NOT_REGULAR -> "not a regular file";
      case UNRESOLVED -> "the name could not be resolved";
      default -> "error " + errno;
    };
  }
}
