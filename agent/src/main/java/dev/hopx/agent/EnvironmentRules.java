package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/** Which variables there may be, and which values are not shown (decision 23). */
final class EnvironmentRules {
  static final String MASK = "***MASKED***";

  static final int MAX_NAME = 255;

  /**
   * Bytes of all variables of a run together, each counted as its name, its value and {@link
   * #ENTRY_COST}: they travel in one frame beside an argument of {@link ShellProgram#MAX_ARGUMENT}.
   */
  static final int MAX_TOTAL = 120 << 10;

  /** Bytes of the separators and lengths of one variable. */
  static final int ENTRY_COST = 8;

  private static final List<String> SECRET_WORDS =
      List.of("KEY", "SECRET", "PASSWORD", "TOKEN", "CREDENTIAL");

  private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_.-]*");

  private EnvironmentRules() {}

  /**
   * @throws ApiException 400 naming the variable; never its value
   */
  static void check(String field, String name, String value) {
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

  /** Refuses what could not be handed to a process. */
  static void checkSize(Map<String, String> variables) {
    long total = 0;
    for (Map.Entry<String, String> entry : variables.entrySet()) {
      total += ENTRY_COST + bytes(entry.getKey()) + bytes(entry.getValue());
    }
    if (total > MAX_TOTAL) {
      throw new ApiException(
          ErrorCode.INVALID_REQUEST,
          "Invalid env: all variables together hold %d bytes, at most %d fit"
              .formatted(total, MAX_TOTAL),
          Map.of("field", "env", "limit", MAX_TOTAL));
    }
  }

  private static long bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8).length;
  }

  static boolean isSecret(String name) {
    String upper = name.toUpperCase(Locale.ROOT);
    return SECRET_WORDS.stream().anyMatch(upper::contains);
  }
}
