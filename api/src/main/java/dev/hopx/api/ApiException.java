package dev.hopx.api;

import java.io.Serial;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A failure meant for the caller. Its message goes to the wire, so it says what was wrong with
 * which field or path and what to do; it never holds a secret.
 */
public final class ApiException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1;

  private final ErrorCode code;
  private final transient Map<String, Object> details;

  public ApiException(ErrorCode code, String message) {
    this(code, message, Map.of(), null);
  }

  public ApiException(ErrorCode code, String message, Map<String, Object> details) {
    this(code, message, details, null);
  }

  public ApiException(
      ErrorCode code, String message, Map<String, Object> details, @Nullable Throwable cause) {
    super(message, cause);
    this.code = code;
    this.details = Collections.unmodifiableMap(new LinkedHashMap<>(details));
  }

  /** 400 about one field of the request. */
  public static ApiException invalidField(String field, String why) {
    return new ApiException(
        ErrorCode.INVALID_REQUEST, "Invalid " + field + ": " + why, Map.of("field", field));
  }

  public ErrorCode code() {
    return code;
  }

  /** Extra facts, e.g. {@code path}, {@code limit}; never null, values are JSON-able. */
  public Map<String, Object> details() {
    return details;
  }
}
