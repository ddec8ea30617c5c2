package dev.hopx.agent;

import dev.hopx.http.HttpExchange;
import dev.hopx.http.RouteHandler;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** {@code POST /execute} and {@code /execute/rich}: runs code in a fresh process (EXE-01). */
final class ExecuteEndpoint implements RouteHandler<AgentSession> {
  static final Duration STANDARD_TIMEOUT = Duration.ofSeconds(60);

  private final ForegroundRunner runner;
  private final boolean rich;
  private final CodePrograms programs = new CodePrograms();

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
    RunOutcome outcome =
        switch (language) {
          case PYTHON -> runner.run(session, exchange, programs.python(code), request);
          case JAVASCRIPT -> runner.run(session, exchange, programs.javascript(code), request);
          case BASH -> runner.run(session, exchange, ShellProgram.code(code), request);
          case GO -> runGo(exchange, session, code, request);
        };
    Map<String, Object> reply = new LinkedHashMap<>();
    outcome.describe(reply);
    reply.put("language", language.canonicalName());
    if (rich) {
      reply.put("rich_outputs", List.of());
    }
    exchange.sendJson(200, reply);
  }

  private RunOutcome runGo(
      HttpExchange exchange, AgentSession session, String code, RunRequest request)
      throws IOException, InterruptedException {
    try (GoWorkspace workspace = GoWorkspace.create(session, code)) {
      return runner.run(session, exchange, workspace.program(), request);
    }
  }
}
