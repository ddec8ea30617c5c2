package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.http.HttpExchange;
import java.util.Map;

/** Query parameters of the file API. */
final class Parameters {
  private Parameters() {}

  /**
   * The {@code path} parameter.
   *
   * @throws ApiException {@code MISSING_PARAMETER}, or {@code INVALID_PATH} when it is empty
   */
  static String path(HttpExchange exchange) {
    return exchange
        .queryParameter("path")
        .orElseThrow(
            () ->
                new ApiException(
                    ErrorCode.MISSING_PARAMETER,
                    "Missing required parameter 'path'",
                    Map.of("field", "path")));
  }
}
