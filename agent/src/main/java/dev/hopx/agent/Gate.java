package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.channel.GuestException;
import dev.hopx.http.HttpExchange;
import dev.hopx.http.RouteHandler;
import java.util.Map;
import java.util.Optional;

/**
 * Stands before every route: a sandbox that is gone is 404 whatever was asked, one that is paused
 * or stopped is 409 (decision 11), a guarded route wants the sandbox's token, and a guest that
 * cannot be reached is never a 500.
 */
final class Gate {
  private Gate() {}

  /** No token wanted. */
  static RouteHandler<AgentSession> open(RouteHandler<AgentSession> handler) {
    return (exchange, session) -> pass(exchange, session, handler);
  }

  static RouteHandler<AgentSession> guarded(RouteHandler<AgentSession> handler) {
    return (exchange, session) -> {
      checkAlive(session);
      checkToken(exchange, session, headerToken(exchange));
      pass(exchange, session, handler);
    };
  }

  /** Also takes the token as {@code ?token=}, for links that a browser follows (decision 7). */
  static RouteHandler<AgentSession> guardedByTokenInQuery(RouteHandler<AgentSession> handler) {
    return (exchange, session) -> {
      checkAlive(session);
      checkToken(
          exchange, session, headerToken(exchange).or(() -> exchange.queryParameter("token")));
      pass(exchange, session, handler);
    };
  }

  /** The JavaScript client without a token sends its key in the other header. */
  private static Optional<String> headerToken(HttpExchange exchange) {
    return exchange.bearerToken().or(() -> exchange.header("X-API-Key"));
  }

  private static void checkToken(
      HttpExchange exchange, AgentSession session, Optional<String> token) {
    if (token.isEmpty() || token.get().isBlank()) {
      exchange.responseHeader("WWW-Authenticate", "Bearer");
      throw new ApiException(
          ErrorCode.AUTHENTICATION_REQUIRED,
          "Authentication required: send this sandbox's token as \"Authorization: Bearer <token>\"");
    }
    if (!session.sandbox().opens(token.get())) {
      exchange.responseHeader("WWW-Authenticate", "Bearer");
      throw new ApiException(
          ErrorCode.INVALID_TOKEN,
          "Invalid token: it does not open this machine; refresh it and try again");
    }
  }

  private static void pass(
      HttpExchange exchange, AgentSession session, RouteHandler<AgentSession> handler)
      throws Exception {
    checkAlive(session);
    try {
      handler.handle(exchange, session);
    } catch (GuestException failure) {
      throw unreachable(session, failure);
    }
  }

  private static void checkAlive(AgentSession session) {
    if (!session.sandbox().isAlive()) {
      throw gone(session);
    }
    checkRunning(session.sandbox());
  }

  /** At once: no request waits for a sandbox that is paused. */
  private static void checkRunning(AgentSandbox sandbox) {
    if (sandbox.isStopped()) {
      throw new ApiException(
          ErrorCode.SANDBOX_STOPPED,
          "Sandbox is stopped; start it first",
          Map.of("sandbox_id", sandbox.id(), "status", "stopped"));
    }
    if (sandbox.isPaused()) {
      throw new ApiException(
          ErrorCode.SANDBOX_PAUSED,
          "Sandbox is paused; resume it first",
          Map.of("sandbox_id", sandbox.id(), "status", "paused"));
    }
  }

  static ApiException gone(AgentSession session) {
    return new ApiException(
        ErrorCode.SANDBOX_NOT_FOUND,
        "Sandbox not found",
        Map.of("sandbox_id", session.sandbox().id()));
  }

  /** What a failure means that no endpoint understood: mostly the connection to the guest. */
  private static ApiException unreachable(AgentSession session, GuestException failure) {
    if (!session.sandbox().isAlive()) {
      return gone(session);
    }
    // It was paused or stopped while the request was under way.
    checkRunning(session.sandbox());
    return new ApiException(
        ErrorCode.SERVICE_UNAVAILABLE,
        "The machine does not answer at the moment; try again",
        Map.of("reason", failure.kind().name()),
        failure);
  }
}
