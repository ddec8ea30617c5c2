package dev.hopx.http;

/**
 * Answers one request in some context (the sandbox it is for, the service it belongs to). Runs on a
 * virtual thread and may block. What it throws is rendered: an {@link dev.hopx.api.ApiException} as
 * its code, anything else as 500 {@code INTERNAL_ERROR} with the cause in the log only.
 */
@FunctionalInterface
public interface RouteHandler<C> {
  void handle(HttpExchange exchange, C context) throws Exception;
}
