package dev.hopx.agent;

import java.util.List;
import java.util.Locale;

/** Which variables' values are not shown (decision 23). */
final class EnvironmentRules {
  static final String MASK = "***MASKED***";

  private static final List<String> SECRET_WORDS =
      List.of("KEY", "SECRET", "PASSWORD", "TOKEN", "CREDENTIAL");

  private EnvironmentRules() {}

  static boolean isSecret(String name) {
    String upper = name.toUpperCase(Locale.ROOT);
    return SECRET_WORDS.stream().anyMatch(upper::contains);
  }
}
