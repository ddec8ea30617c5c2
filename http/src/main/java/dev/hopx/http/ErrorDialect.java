package dev.hopx.http;

import dev.hopx.api.ApiException;
import java.util.Map;

/** Renders an error as the body of one wire dialect (decision 2). */
@FunctionalInterface
public interface ErrorDialect {
  /** JSON-able body of the error response. */
  Map<String, Object> render(ApiException error, HttpExchange exchange);
}
