package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.channel.FileStat;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Pattern;

/** Permission bits as text. */
final class FileModes {
  private static final int SET_USER = 04000;
  private static final int SET_GROUP = 02000;
  private static final int STICKY = 01000;

  private static final Pattern OCTAL = Pattern.compile("(?:0o)?0?[0-7]{1,4}");

  private FileModes() {}

  /** Reads {@code 0644}, {@code 644} or {@code 0o644}. */
  static OptionalInt parse(Optional<String> mode) {
    if (mode.isEmpty()) {
      return OptionalInt.empty();
    }
    String text = mode.get();
    if (!OCTAL.matcher(text).matches()) {
      throw ApiException.invalidField("mode", "must be an octal string such as 0644");
    }
    return OptionalInt.of(Integer.parseInt(text.startsWith("0o") ? text.substring(2) : text, 8));
  }

  /** {@code 0644}. */
  static String octal(int mode) {
    return "%04o".formatted(mode);
  }

  /** {@code -rw-r--r--}, as {@code ls} shows it. */
  static String permissions(FileStat.Kind kind, int mode) {
    char type =
        switch (kind) {
          case FILE -> '-';
          case DIRECTORY -> 'd';
          case LINK -> 'l';
          case OTHER -> '?';
        };
    return type
        + triple(mode >> 6, (mode & SET_USER) != 0, 's', 'S')
        + triple(mode >> 3, (mode & SET_GROUP) != 0, 's', 'S')
        + triple(mode, (mode & STICKY) != 0, 't', 'T');
  }

  private static String triple(int bits, boolean special, char executable, char plain) {
    boolean execute = (bits & 1) != 0;
    char last = special ? (execute ? executable : plain) : (execute ? 'x' : '-');
    return "" + ((bits & 4) != 0 ? 'r' : '-') + ((bits & 2) != 0 ? 'w' : '-') + last;
  }
}
