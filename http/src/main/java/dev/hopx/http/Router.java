package dev.hopx.http;

import java.util.ArrayList;
import java.util.List;

/**
 * Routes by method and path template, e.g. {@code /v1/sandboxes/{id}/token/refresh}. Literal
 * segments win over parameters. No trailing-slash redirects: {@code /a/} is {@code /a}.
 */
public final class Router {
  private final List<Route> routes = new ArrayList<>();
  private final ErrorDialect errors;

  public Router(ErrorDialect errors) {
    this.errors = errors;
  }

  /** Adds a route; the paths of two routes with one method must differ. */
  public Router route(HttpMethod method, String path, RouteHandler handler) {
    routes.add(new Route(method, path, handler));
    return this;
  }

  public List<Route> routes() {
    return List.copyOf(routes);
  }

  public ErrorDialect errors() {
    return errors;
  }

  /** A route as it was added. */
  public record Route(HttpMethod method, String path, RouteHandler handler) {}
}
