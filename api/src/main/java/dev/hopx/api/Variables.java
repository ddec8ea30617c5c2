package dev.hopx.api;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Which environment variables a sandbox can have. One rule for creation, {@code /env} and single
 * runs: a sandbox made with variables that no program of it could be given would be of no use, and
 * the official clients set those of a creation once more through {@code /env}.
 */
public final class Variables {
  /** Characters of a name. */
  public static final int MAX_NAME = 255;

  /**
   * Bytes of all variables of a run together, the system's included, as {@link #size} counts them:
   * they travel to the guest in one frame with the command line.
   */
  public static final int MAX_TOTAL = 120 << 10;

  /** Bytes of those given at creation; leaves room for the system's and a run's own. */
  public static final int MAX_AT_CREATION = 96 << 10;

  /** Bytes of the separators and lengths of one variable. */
  public static final int ENTRY_COST = 8;

  private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_.-]*");

  private Variables() {}

  /**
   * Judges one variable.
   *
   * @throws ApiException 400 naming the variable; never its value
   */
  public static void check(String field, String name, String value) {
    if (name.length() > MAX_NAME || !NAME.matcher(name).matches()) {
      throw ApiException.invalidField(
          field,
          "the name '"
              + name.substring(0, Math.min(name.length(), MAX_NAME))
              + "' must start with a letter or _ and hold only letters, digits, _, . and -,"
              + " at most "
              + MAX_NAME
              + " of them");
    }
    if (value.indexOf('\0') >= 0) {
      throw ApiException.invalidField(
          field, "the value of '" + name + "' must not hold a NUL character");
    }
  }

  /**
   * Refuses more bytes than {@code limit}.
   *
   * @throws ApiException 400 with both numbers
   */
  public static void checkSize(String field, Map<String, String> variables, int limit) {
    long total = size(variables);
    if (total > limit) {
      throw new ApiException(
          ErrorCode.INVALID_REQUEST,
          "Invalid %s: all variables together hold %d bytes, at most %d fit"
              .formatted(field, total, limit),
          Map.of("field", field, "limit", limit));
    }
  }

  /** Bytes of names and values in UTF-8, with {@link #ENTRY_COST} for each variable. */
  public static long size(Map<String, String> variables) {
    long total = 0;
    for (Map.Entry<String, String> entry : variables.entrySet()) {
      total += ENTRY_COST + bytes(entry.getKey()) + bytes(entry.getValue());
    }
    return total;
  }

  private static long bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8).length;
  }
}
