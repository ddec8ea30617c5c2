package dev.hopx.agent;

import dev.hopx.http.HttpExchange;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/** {@code /env} (contract §4.5); every change answers with the set that results. */
final class EnvironmentEndpoint {
  private static final String VARIABLES = "env_vars";

  void get(HttpExchange exchange, AgentSession session) {
    reply(exchange, session);
  }

  void put(HttpExchange exchange, AgentSession session) {
    change(exchange, session, false);
  }

  void patch(HttpExchange exchange, AgentSession session) {
    change(exchange, session, true);
  }

  void delete(HttpExchange exchange, AgentSession session) {
    session.environment().clear();
    reply(exchange, session);
  }

  private static void change(HttpExchange exchange, AgentSession session, boolean standardMerge) {
    RequestBody body = RequestBody.of(exchange);
    if (!body.has(VARIABLES)) {
      throw RequestBody.missing(VARIABLES);
    }
    Map<String, String> variables = body.variables(VARIABLES);
    if (body.flag("merge").orElse(standardMerge)) {
      session.environment().merge(variables);
    } else {
      session.environment().replace(variables);
    }
    reply(exchange, session);
  }

  private static void reply(HttpExchange exchange, AgentSession session) {
    boolean reveal = exchange.queryParameter("reveal").filter("true"::equals).isPresent();
    Map<String, String> shown = session.environment().shown(reveal);
    Map<String, Object> reply = new LinkedHashMap<>();
    reply.put(VARIABLES, shown);
    reply.put("count", shown.size());
    reply.put("timestamp", Instant.now());
    exchange.sendJson(200, reply);
  }
}
