package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Languages of {@code /execute}, each with the names that clients use for it (EXE-03). */
enum Language {
  PYTHON,
  JAVASCRIPT,
  BASH,
  GO;

  /** The name that responses give. */
  String canonicalName() {
    return name().toLowerCase(Locale.ROOT);
  }

  static List<String> canonicalNames() {
    return Arrays.stream(values()).map(Language::canonicalName).toList();
  }

  /**
   * @throws ApiException {@code INVALID_REQUEST} with what is supported
   */
  static Language parse(String name) {
    return switch (name.strip().toLowerCase(Locale.ROOT)) {
      case "python", "python3", "py" -> PYTHON;
      case "javascript", "js", "node", "nodejs" -> JAVASCRIPT;
      case "bash", "sh", "shell" -> BASH;
      case "go", "golang" -> GO;
      default ->
          throw new ApiException(
              ErrorCode.INVALID_REQUEST,
              "Invalid language: " + name + ". Supported: " + String.join(", ", canonicalNames()),
              Map.of("field", "language", "supported", canonicalNames()));
    };
  }
}
