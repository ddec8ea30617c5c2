package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.http.ErrorDialect;
import dev.hopx.http.HttpExchange;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Errors as the clients of an agent read them (contract §1.6): the text twice, {@code details}
 * always an object, the path and the missing packages of a desktop at the top level as well.
 */
public final class AgentErrors implements ErrorDialect {
  static final String MISSING_DEPENDENCIES = "missing_dependencies";

  @Override
  public Map<String, Object> render(ApiException error, HttpExchange exchange) {
    String message = String.valueOf(error.getMessage());
    Map<String, Object> details = error.details();
    Map<String, Object> body = new LinkedHashMap<>();
    body.put("error", message);
    body.put("message", message);
    body.put("code", error.code().name());
    body.put("request_id", exchange.requestId());
    body.put("timestamp", Instant.now());
    if (details.containsKey("path")) {
      body.put("path", details.get("path"));
    }
    if (error.code() == ErrorCode.DESKTOP_NOT_AVAILABLE) {
      body.put(MISSING_DEPENDENCIES, details.get(MISSING_DEPENDENCIES));
    }
    body.put("details", details);
    return body;
  }
}
