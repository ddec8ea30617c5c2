package dev.hopx.agent;

import dev.hopx.http.HttpExchange;
import dev.hopx.http.RouteHandler;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * {@code POST /execute} and {@code /execute/rich}: runs Python and JavaScript in the sandbox's
 * interpreters, other languages in fresh processes (EXE-01, decision 13).
 */
final class ExecuteEndpoint implements RouteHandler<AgentSession> {
  static final Duration STANDARD_TIMEOUT = Duration.ofSeconds(60);

  private final ForegroundRunner runner;
  private final boolean rich;

  ExecuteEndpoint(ForegroundRunner runner, boolean rich) {
    this.runner = runner;
    this.rich = rich;
  }

  @Override
  public void handle(HttpExchange exchange, AgentSession session)
      throws IOException, InterruptedException {
    RequestBody body = RequestBody.of(exchange);
    String code = body.required("code");
    Language language = body.text("language").map(Language::parse).orElse(Language.PYTHON);
    RunRequest request = RunRequest.of(body, STANDARD_TIMEOUT);
    Map<String, Object> reply = new LinkedHashMap<>();
    switch (language) {
      case PYTHON -> interpret(exchange, session, InterpreterKind.PYTHON, code, request, reply);
      case JAVASCRIPT ->
          interpret(exchange, session, InterpreterKind.JAVASCRIPT, code, request, reply);
      case BASH -> describe(runner.run(session, exchange, ShellProgram.code(code), request), reply);
      case GO -> describe(runGo(exchange, session, code, request), reply);
    }
    reply.put("language", language.canonicalName());
    exchange.sendJson(200, reply);
  }

  /** {@code POST /execute/ipython}: always Python, the last expression in {@code result}. */
  void ipython(HttpExchange exchange, AgentSession session) throws InterruptedException {
    RequestBody body = RequestBody.of(exchange);
    String code = body.required("code");
    RunRequest request = RunRequest.of(body, STANDARD_TIMEOUT);
    Map<String, Object> reply = new LinkedHashMap<>();
    interpret(exchange, session, InterpreterKind.PYTHON, code, request, reply);
    reply.put("language", Language.PYTHON.canonicalName());
    exchange.sendJson(200, reply);
  }

  private void interpret(
      HttpExchange exchange,
      AgentSession session,
      InterpreterKind kind,
      String code,
      RunRequest request,
      Map<String, Object> reply)
      throws InterruptedException {
    session.interpreter(kind).run(exchange, code, request).describe(reply, rich);
  }

  private void describe(RunOutcome outcome, Map<String, Object> reply) {
    outcome.describe(reply);
    if (rich) {
      reply.put("rich_outputs", List.of());
    }
  }

  private RunOutcome runGo(
      HttpExchange exchange, AgentSession session, String code, RunRequest request)
      throws IOException, InterruptedException {
    try (GoWorkspace workspace = GoWorkspace.create(session, code)) {
      return runner.run(session, exchange, workspace.program(), request);
    }
  }
}
