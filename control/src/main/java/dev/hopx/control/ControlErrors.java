package dev.hopx.control;

import dev.hopx.api.ApiException;
import dev.hopx.http.ErrorDialect;
import dev.hopx.http.HttpExchange;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Errors of the control plane (decision 2, contract §1.6). The Python SDK reads {@code error} as an
 * object, the documentation shows a string, the JavaScript SDK reads the top level: so the form of
 * {@code error} follows the client and the top level always has it all.
 */
public final class ControlErrors implements ErrorDialect {
  static final String PYTHON_SDK = "hopx-python/";

  /** Detail that clients wait for before they try again, in seconds. */
  static final String RETRY_AFTER_DETAIL = "retry_after_seconds";

  /** Details the JavaScript SDK reads from the top level of an expired sandbox's answer. */
  private static final String[] TOP_LEVEL_DETAILS = {
    "sandbox_id", "created_at", "expires_at", "status"
  };

  @Override
  public Map<String, Object> render(ApiException error, HttpExchange exchange) {
    String message = String.valueOf(error.getMessage());
    Map<String, Object> details = error.details();
    Map<String, Object> body = new LinkedHashMap<>();
    if (exchange.header("User-Agent").orElse("").startsWith(PYTHON_SDK)) {
      Map<String, Object> object = new LinkedHashMap<>();
      object.put("message", message);
      object.put("code", error.code().name());
      object.put("request_id", exchange.requestId());
      object.put("details", details);
      body.put("error", object);
    } else {
      body.put("error", message);
    }
    body.put("message", message);
    body.put("code", error.code().name());
    body.put("request_id", exchange.requestId());
    body.put("details", details);
    for (String name : TOP_LEVEL_DETAILS) {
      if (details.containsKey(name)) {
        body.put(name, details.get(name));
      }
    }
    if (details.get(RETRY_AFTER_DETAIL) instanceof Integer seconds) {
      body.put("retry_after", seconds);
      exchange.responseHeader("Retry-After", seconds.toString());
    }
    return body;
  }
}
