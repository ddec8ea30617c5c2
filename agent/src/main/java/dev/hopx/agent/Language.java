package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** Languages of {@code /execute}, each with the names that clients use for it (EXE-03). */
enum Language {
  PYTHON("python", "python3", "py"),
  JAVASCRIPT("javascript", "js", "node", "nodejs"),
  BASH("bash", "sh", "shell"),
  GO("go", "golang");

  private final List<String> names;

  Language(String... names) {
    this.names = List.of(names);
  }

  /** The name that responses give. */
  String canonicalName() {
    return names.getFirst();
  }

  static List<String> canonicalNames() {
    return Arrays.stream(values()).map(Language::canonicalName).toList();
  }

  /**
   * @throws ApiException {@code INVALID_REQUEST} with what is supported
   */
  static Language parse(String name) {
    String wanted = name.strip().toLowerCase(Locale.ROOT);
    for (Language language : values()) {
      if (language.names.contains(wanted)) {
        return language;
      }
    }
    String supported =
        Arrays.stream(values()).map(Language::canonicalName).collect(Collectors.joining(", "));
    throw new ApiException(
        ErrorCode.INVALID_REQUEST,
        "Invalid language: " + name + ". Supported: " + supported,
        Map.of("field", "language", "supported", canonicalNames()));
  }
}
