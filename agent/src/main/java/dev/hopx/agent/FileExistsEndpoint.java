package dev.hopx.agent;

import dev.hopx.api.ErrorCode;
import dev.hopx.channel.FileStat;
import dev.hopx.channel.GuestException;
import dev.hopx.http.HttpExchange;
import dev.hopx.http.RouteHandler;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** {@code GET /files/exists}: links are followed, a dangling one does not exist. */
final class FileExistsEndpoint implements RouteHandler<AgentSession> {
  @Override
  public void handle(HttpExchange exchange, AgentSession session) {
    GuestPath path = GuestPath.parse(Parameters.path(exchange));
    Optional<FileStat> found = find(session, path);
    Map<String, Object> reply = new LinkedHashMap<>();
    reply.put("exists", found.isPresent());
    reply.put("path", path.value());
    found.ifPresent(stat -> reply.put("is_directory", stat.kind() == FileStat.Kind.DIRECTORY));
    exchange.sendJson(200, reply);
  }

  private static Optional<FileStat> find(AgentSession session, GuestPath path) {
    try {
      return Optional.of(session.files().stat(path.value(), true));
    } catch (GuestException failure) {
      if (failure.kind() == GuestException.Kind.NOT_FOUND
          || failure.kind() == GuestException.Kind.NOT_A_DIRECTORY) {
        return Optional.empty();
      }
      throw GuestFailures.about(path, ErrorCode.FILE_NOT_FOUND, failure);
    }
  }
}
