package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.http.HttpExchange;
import dev.hopx.http.RouteHandler;
import java.util.List;
import java.util.Map;

/**
 * Answers for machines without a desktop. Clients take any success of {@code /desktop/…} for a
 * desktop, and a 501 or 503 for something to try again (contract §4.9).
 */
final class DesktopEndpoint implements RouteHandler<AgentSession> {
  @Override
  public void handle(HttpExchange exchange, AgentSession session) {
    throw new ApiException(
        ErrorCode.DESKTOP_NOT_AVAILABLE,
        "Desktop not available: the template '%s' has none"
            .formatted(session.sandbox().templateName()),
        Map.of(AgentErrors.MISSING_DEPENDENCIES, List.of()));
  }
}
