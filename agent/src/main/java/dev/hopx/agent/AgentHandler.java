package dev.hopx.agent;

import dev.hopx.http.HttpExchange;
import dev.hopx.http.HttpHandler;

/** Serves the agent's requests of one sandbox. Owns what the agent has inside of it. */
public final class AgentHandler implements HttpHandler, AutoCloseable {
  private final AgentSession session;
  private final HttpHandler routes;

  AgentHandler(AgentSession session, HttpHandler routes) {
    this.session = session;
    this.routes = routes;
  }

  @Override
  public void handle(HttpExchange exchange) throws Exception {
    routes.handle(exchange);
  }

  /** Call it when the sandbox is deleted; it does not wait for runs. Idempotent. */
  @Override
  public void close() {
    session.close();
  }
}
