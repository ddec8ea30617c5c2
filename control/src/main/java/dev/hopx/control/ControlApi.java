package dev.hopx.control;

import static java.util.Objects.requireNonNull;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.http.HttpExchange;
import dev.hopx.http.HttpHandler;
import dev.hopx.http.HttpMethod;
import dev.hopx.http.RouteHandler;
import dev.hopx.http.Router;
import dev.hopx.template.Template;
import dev.hopx.template.TemplateCatalog;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The control plane on the wire (contract §2). Every success is a JSON object, because the Python
 * SDK parses each of them; everything but {@code /health} wants an API key. Thread-safe.
 */
public final class ControlApi {
  /** Page size where a client names none (decision 5). */
  static final int DEFAULT_LIMIT = 100;

  /** Larger page sizes are taken as this one (decision 5). */
  static final int MAX_LIMIT = 1000;

  private static final Router<ControlApi> ROUTER =
      new Router<ControlApi>(new ControlErrors())
          .route(HttpMethod.GET, "/health", (exchange, api) -> api.health(exchange))
          .route(
              HttpMethod.POST,
              "/v1/sandboxes",
              authenticated((api, exchange, caller) -> api.create.handle(exchange, caller)))
          .route(HttpMethod.GET, "/v1/sandboxes", authenticated(ControlApi::listSandboxes))
          .route(HttpMethod.GET, "/v1/sandboxes/{id}", authenticated(ControlApi::getSandbox))
          .route(HttpMethod.DELETE, "/v1/sandboxes/{id}", authenticated(ControlApi::deleteSandbox))
          .route(HttpMethod.POST, "/v1/sandboxes/{id}/pause", move(SandboxLifecycle::pause))
          .route(HttpMethod.POST, "/v1/sandboxes/{id}/resume", move(SandboxLifecycle::resume))
          .route(HttpMethod.POST, "/v1/sandboxes/{id}/stop", move(SandboxLifecycle::stop))
          .route(HttpMethod.POST, "/v1/sandboxes/{id}/start", move(SandboxLifecycle::start))
          .route(HttpMethod.POST, "/v1/sandboxes/{id}/kill", authenticated(ControlApi::killSandbox))
          .route(
              HttpMethod.PUT,
              "/v1/sandboxes/{id}/timeout",
              authenticated(ControlApi::changeTimeout))
          .route(
              HttpMethod.POST,
              "/v1/sandboxes/{id}/token/refresh",
              authenticated(ControlApi::refreshToken))
          .route(
              HttpMethod.POST,
              "/v1/sandboxes/{id}/refresh",
              authenticated(ControlApi::refreshToken))
          .route(HttpMethod.GET, "/v1/templates", authenticated(ControlApi::listTemplates))
          .route(HttpMethod.GET, "/v1/templates/{name}", authenticated(ControlApi::getTemplate));

  private final ControlSettings settings;
  private final ApiKeys keys;
  private final SandboxService sandboxes;
  private final SandboxTokens tokens;
  private final SandboxRequests requests;
  private final TemplateLookup templates;
  private final CreateEndpoint create;
  private final InstantSource clock;

  public ControlApi(
      ControlSettings settings,
      ApiKeys keys,
      SandboxService sandboxes,
      SandboxTokens tokens,
      TemplateCatalog catalog,
      Store store,
      InstantSource clock) {
    this.settings = requireNonNull(settings);
    this.keys = requireNonNull(keys);
    this.sandboxes = requireNonNull(sandboxes);
    this.tokens = requireNonNull(tokens);
    this.templates = new TemplateLookup(requireNonNull(catalog));
    this.requests = new SandboxRequests(sandboxes.regions(), templates);
    this.create = new CreateEndpoint(sandboxes, requests, tokens, store, clock);
    this.clock = requireNonNull(clock);
  }

  /** Answers the requests of the API's port. */
  public HttpHandler handler() {
    return ROUTER.handler(this);
  }

  /** All that is served, for the documentation. */
  public static List<? extends Router.Route<?>> routes() {
    return ROUTER.routes();
  }

  private void health(HttpExchange exchange) {
    Map<String, @Nullable Object> body = body(exchange);
    body.put("status", "healthy");
    body.put("message", "hopx is running");
    body.put("version", settings.version());
    body.put("isolation", sandboxes.isolation().wireName());
    body.put("timestamp", Timestamps.format(clock.instant()));
    exchange.sendJson(200, body);
  }

  private void listSandboxes(HttpExchange exchange, Caller caller) {
    SandboxFilter filter =
        new SandboxFilter(
            filterValue(exchange, "status").map(ControlApi::parseStatus),
            filterValue(exchange, "region").map(requests::checkRegion));
    Optional<SandboxCursor> after =
        filterValue(exchange, "cursor")
            .map(
                text ->
                    SandboxCursor.decode(text)
                        .orElseThrow(
                            () ->
                                ApiException.invalidField(
                                    "cursor", "use next_cursor of the page before")));
    SandboxService.Page page =
        sandboxes.list(caller, filter, after, limit(exchange).orElse(DEFAULT_LIMIT));
    List<Map<String, @Nullable Object>> data = new ArrayList<>();
    page.sandboxes().forEach(sandbox -> data.add(withToken(sandbox)));
    Map<String, @Nullable Object> body =
        list(
            exchange,
            "/v1/sandboxes",
            data,
            page.hasMore()
                ? Optional.of(SandboxCursor.behind(page.sandboxes().getLast()).encode())
                : Optional.empty());
    exchange.sendJson(200, body);
  }

  private void getSandbox(HttpExchange exchange, Caller caller) {
    Map<String, @Nullable Object> body = withToken(sandboxes.get(caller, id(exchange)));
    body.put("request_id", exchange.requestId());
    exchange.sendJson(200, body);
  }

  private void deleteSandbox(HttpExchange exchange, Caller caller) {
    end(exchange, caller, "deleted");
  }

  /** Deletion under its other name, with the word for it that the documents have (LIF-22). */
  private void killSandbox(HttpExchange exchange, Caller caller) {
    end(exchange, caller, "killed");
  }

  private void end(HttpExchange exchange, Caller caller, String word) {
    sandboxes.delete(caller, id(exchange));
    Map<String, @Nullable Object> body = body(exchange);
    body.put("status", word);
    body.put("id", id(exchange));
    exchange.sendJson(200, body);
  }

  /** The body of these requests, which clients leave out or empty (F22), is not looked at. */
  private static RouteHandler<ControlApi> move(Move move) {
    return authenticated(
        (api, exchange, caller) -> {
          SandboxRecord sandbox = move.make(api.sandboxes.lifecycle(), caller, id(exchange));
          Map<String, @Nullable Object> body = body(exchange);
          body.put("id", sandbox.id().value());
          body.put("status", sandbox.status().wireName());
          exchange.sendJson(200, body);
        });
  }

  private void changeTimeout(HttpExchange exchange, Caller caller) {
    // Who may not see the sandbox must not learn from the body's judgement that it is there.
    sandboxes.get(caller, id(exchange));
    SandboxRecord sandbox =
        sandboxes.changeTimeout(caller, id(exchange), requests.parseTimeout(exchange.jsonBody()));
    Map<String, @Nullable Object> body = body(exchange);
    body.put("id", sandbox.id().value());
    body.put("timeout_seconds", SandboxJson.number(sandbox.timeoutSeconds()));
    body.put("expires_at", SandboxJson.timestamp(sandbox.expiresAt()));
    exchange.sendJson(200, body);
  }

  private void refreshToken(HttpExchange exchange, Caller caller) {
    SandboxToken token = tokens.issue(sandboxes.get(caller, id(exchange)).id().value());
    exchange.sendJson(200, SandboxJson.withToken(body(exchange), token));
  }

  private void listTemplates(HttpExchange exchange, Caller caller) {
    Optional<String> category = filterValue(exchange, "category");
    Optional<String> language = filterValue(exchange, "language");
    List<Template> found =
        templates.list().stream()
            .filter(template -> category.isEmpty() || category.get().equals(template.category()))
            .filter(template -> language.isEmpty() || language.equals(template.language()))
            .toList();
    TemplatePage page =
        TemplatePage.of(found, filterValue(exchange, "cursor"), limit(exchange).orElse(MAX_LIMIT));
    exchange.sendJson(
        200,
        list(
            exchange,
            "/v1/templates",
            page.templates().stream().map(TemplateJson::of).toList(),
            page.nextCursor()));
  }

  private void getTemplate(HttpExchange exchange, Caller caller) {
    Map<String, @Nullable Object> body =
        TemplateJson.of(templates.find(exchange.pathParameter("name")));
    body.put("request_id", exchange.requestId());
    exchange.sendJson(200, body);
  }

  private Map<String, @Nullable Object> withToken(SandboxRecord sandbox) {
    return SandboxJson.withToken(SandboxJson.of(sandbox), tokens.issue(sandbox.id().value()));
  }

  private static RouteHandler<ControlApi> authenticated(CallerHandler handler) {
    return (exchange, api) -> handler.handle(api, exchange, api.caller(exchange));
  }

  /** Takes the key from either header; {@code X-API-Key} counts where both are sent. */
  private Caller caller(HttpExchange exchange) {
    String key =
        exchange
            .header("X-API-Key")
            .or(exchange::bearerToken)
            .orElseThrow(
                () ->
                    unauthenticated(
                        exchange,
                        ErrorCode.AUTHENTICATION_REQUIRED,
                        "An API key is required: send it as X-API-Key or Authorization: Bearer"));
    return keys.authenticate(key.strip())
        .orElseThrow(
            () -> unauthenticated(exchange, ErrorCode.INVALID_TOKEN, "The API key is not valid"));
  }

  private static ApiException unauthenticated(
      HttpExchange exchange, ErrorCode code, String message) {
    exchange.responseHeader("WWW-Authenticate", "Bearer");
    return new ApiException(code, message);
  }

  private static String id(HttpExchange exchange) {
    return exchange.pathParameter("id");
  }

  /** Empty where a client sends the parameter without a value. */
  private static Optional<String> filterValue(HttpExchange exchange, String name) {
    return exchange.queryParameter(name).filter(value -> !value.isEmpty());
  }

  private static SandboxStatus parseStatus(String name) {
    return SandboxStatus.ofWireName(name)
        .orElseThrow(
            () ->
                ApiException.invalidField(
                    "status", "use running, stopped, paused, creating or error"));
  }

  /** 1 to {@link #MAX_LIMIT}; empty where none is given. */
  private static Optional<Integer> limit(HttpExchange exchange) {
    return filterValue(exchange, "limit")
        .map(
            text -> {
              if (!text.matches("[0-9]{1,1000}") || text.matches("0+")) {
                throw ApiException.invalidField("limit", "must be a whole number above 0");
              }
              String digits = text.replaceFirst("^0+", "");
              return digits.length() > 4
                  ? MAX_LIMIT
                  : Math.min(Integer.parseInt(digits), MAX_LIMIT);
            });
  }

  private static Map<String, @Nullable Object> list(
      HttpExchange exchange,
      String url,
      List<Map<String, @Nullable Object>> data,
      Optional<String> nextCursor) {
    Map<String, @Nullable Object> body = body(exchange);
    body.put("object", "list");
    body.put("data", data);
    body.put("has_more", nextCursor.isPresent());
    body.put("next_cursor", nextCursor.orElse(null));
    body.put("url", url);
    return body;
  }

  private static Map<String, @Nullable Object> body(HttpExchange exchange) {
    Map<String, @Nullable Object> body = new LinkedHashMap<>();
    body.put("request_id", exchange.requestId());
    return body;
  }

  /** Moves a sandbox from one status to another. */
  @FunctionalInterface
  private interface Move {
    SandboxRecord make(SandboxLifecycle lifecycle, Caller caller, String id);
  }

  /** Answers a request whose caller is known. */
  @FunctionalInterface
  private interface CallerHandler {
    void handle(ControlApi api, HttpExchange exchange, Caller caller) throws Exception;
  }
}
