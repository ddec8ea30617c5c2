package dev.hopx.http;

/**
 * Answers one request. Runs on a virtual thread and may block. What it throws is rendered: an
 * {@link dev.hopx.api.ApiException} as its code, anything else as 500 {@code INTERNAL_ERROR} with
 * the cause in the log only.
 */
@FunctionalInterface
public interface RouteHandler {
  void handle(HttpExchange exchange) throws Exception;
}
