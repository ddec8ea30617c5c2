package dev.hopx.http;

import static java.util.Objects.requireNonNull;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Routes by method and path template, e.g. {@code /v1/sandboxes/{id}/token/refresh}. Literal
 * segments win over parameters. No trailing-slash redirects: {@code /a/} is {@code /a}. An unknown
 * path is 404 {@code RESOURCE_NOT_FOUND}, a known one with another method 405 {@code
 * METHOD_NOT_ALLOWED} with {@code Allow}. HEAD is answered by the route for GET. One router serves
 * any number of contexts.
 */
public final class Router<C> {
  private static final Logger log = LoggerFactory.getLogger(Router.class);

  private final List<Route<C>> routes = new ArrayList<>();
  private final Branch<C> root = new Branch<>();
  private final ErrorDialect errors;

  public Router(ErrorDialect errors) {
    this.errors = requireNonNull(errors);
  }

  /**
   * Adds a route; the paths of two routes with one method must differ. Not after first use.
   *
   * @throws IllegalArgumentException when the path is malformed or taken
   */
  public Router<C> route(HttpMethod method, String path, RouteHandler<C> handler) {
    if (!path.startsWith("/")) {
      throw new IllegalArgumentException("A path starts with a slash: " + path);
    }
    Branch<C> branch = root;
    List<String> names = new ArrayList<>();
    for (String segment : segments(path)) {
      if (segment.startsWith("{") && segment.endsWith("}")) {
        names.add(segment.substring(1, segment.length() - 1));
        branch = branch.parameter();
      } else {
        branch = branch.literals.computeIfAbsent(segment, key -> new Branch<>());
      }
    }
    Route<C> route = new Route<>(method, path, requireNonNull(handler));
    if (branch.leaves.putIfAbsent(method, new Leaf<>(route, List.copyOf(names))) != null) {
      throw new IllegalArgumentException("Two routes for " + method + " " + path);
    }
    routes.add(route);
    return this;
  }

  /** Serves these routes in {@code context}; errors come out in this router's dialect. */
  public HttpHandler handler(C context) {
    requireNonNull(context);
    return exchange -> {
      try {
        dispatch(exchange, context);
      } catch (ApiException failure) {
        if (exchange.isCommitted()) {
          throw failure;
        }
        if (failure.code().status() >= 500) {
          log.warn("{} {}", exchange.requestId(), failure.getMessage(), failure);
        }
        sendError(exchange, failure);
      } catch (Exception failure) {
        if (exchange.isCommitted()) {
          throw failure;
        }
        log.error("{} failed", exchange.requestId(), failure);
        sendError(exchange, new ApiException(ErrorCode.INTERNAL_ERROR, "Internal error"));
      }
    };
  }

  /** The routes in their order, for documentation and tests. */
  public List<Route<C>> routes() {
    return List.copyOf(routes);
  }

  private void sendError(HttpExchange exchange, ApiException failure) {
    exchange.sendJson(failure.code().status(), errors.render(failure, exchange));
  }

  private void dispatch(HttpExchange exchange, C context) throws Exception {
    List<String> values = new ArrayList<>();
    List<String> segments = new ArrayList<>();
    for (String segment : segments(exchange.rawPath())) {
      segments.add(PercentCoding.decodeSegment(segment));
    }
    Branch<C> branch = find(root, segments, 0, values);
    if (branch == null) {
      throw new ApiException(
          ErrorCode.RESOURCE_NOT_FOUND,
          "Not found: " + exchange.methodName() + " " + exchange.rawPath());
    }
    Leaf<C> leaf = branch.leaf(exchange.methodName());
    if (leaf == null) {
      exchange.responseHeader("Allow", branch.allowed());
      throw new ApiException(
          ErrorCode.METHOD_NOT_ALLOWED,
          "%s is not allowed for %s; allowed: %s"
              .formatted(exchange.methodName(), exchange.rawPath(), branch.allowed()));
    }
    Map<String, String> parameters = new HashMap<>();
    for (int index = 0; index < values.size(); index++) {
      parameters.put(leaf.parameters.get(index), values.get(index));
    }
    leaf.route.handler().handle(new RoutedExchange(exchange, parameters), context);
  }

  private static <C> @Nullable Branch<C> find(
      Branch<C> branch, List<String> segments, int depth, List<String> values) {
    if (depth == segments.size()) {
      return branch.leaves.isEmpty() ? null : branch;
    }
    String segment = segments.get(depth);
    Branch<C> literal = branch.literals.get(segment);
    if (literal != null) {
      Branch<C> found = find(literal, segments, depth + 1, values);
      if (found != null) {
        return found;
      }
    }
    if (branch.parameter == null || segment.isEmpty()) {
      return null;
    }
    values.add(segment);
    Branch<C> found = find(branch.parameter, segments, depth + 1, values);
    if (found == null) {
      values.removeLast();
    }
    return found;
  }

  private static List<String> segments(String path) {
    String inner = path.startsWith("/") ? path.substring(1) : path;
    if (inner.endsWith("/")) {
      inner = inner.substring(0, inner.length() - 1);
    }
    return inner.isEmpty() ? List.of() : List.of(inner.split("/", -1));
  }

  /** A route as it was added. */
  public record Route<C>(HttpMethod method, String path, RouteHandler<C> handler) {}

  private record Leaf<C>(Route<C> route, List<String> parameters) {}

  /** What may follow one path segment. */
  private static final class Branch<C> {
    private final Map<String, Branch<C>> literals = new HashMap<>();
    private final Map<HttpMethod, Leaf<C>> leaves = new EnumMap<>(HttpMethod.class);
    private @Nullable Branch<C> parameter;

    Branch<C> parameter() {
      if (parameter == null) {
        parameter = new Branch<>();
      }
      return parameter;
    }

    @Nullable Leaf<C> leaf(String methodName) {
      String effective = methodName.equals("HEAD") ? HttpMethod.GET.name() : methodName;
      for (Map.Entry<HttpMethod, Leaf<C>> entry : leaves.entrySet()) {
        if (entry.getKey().name().equals(effective)) {
          return entry.getValue();
        }
      }
      return null;
    }

    String allowed() {
      TreeSet<String> names = new TreeSet<>();
      for (HttpMethod method : leaves.keySet()) {
        names.add(method.name());
      }
      if (leaves.containsKey(HttpMethod.GET)) {
        names.add("HEAD");
      }
      return String.join(", ", names);
    }
  }
}
