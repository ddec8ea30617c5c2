package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.http.HttpExchange;
import dev.hopx.http.RouteHandler;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * {@code POST /commands/run}: a program with its arguments, or without arguments a text for the
 * shell (contract §4.3).
 */
final class CommandEndpoint implements RouteHandler<AgentSession> {
  static final Duration STANDARD_TIMEOUT = Duration.ofSeconds(30);

  private final ForegroundRunner runner;

  CommandEndpoint(ForegroundRunner runner) {
    this.runner = runner;
  }

  @Override
  public void handle(HttpExchange exchange, AgentSession session) throws InterruptedException {
    RequestBody body = RequestBody.of(exchange);
    String command = body.required("command");
    if (command.isBlank()) {
      throw ApiException.invalidField("command", "must not be empty");
    }
    List<String> arguments = body.texts("args");
    RunRequest request = RunRequest.of(body, STANDARD_TIMEOUT);
    Program program =
        arguments.isEmpty()
            ? ShellProgram.command(command)
            : ShellProgram.exact(command, arguments);
    RunOutcome outcome = runner.run(session, exchange, program, request);
    Map<String, Object> reply = new LinkedHashMap<>();
    outcome.describe(reply);
    reply.put("command", command);
    outcome.pid().ifPresent(pid -> reply.put("pid", pid));
    exchange.sendJson(200, reply);
  }
}
