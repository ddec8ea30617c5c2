package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.channel.GuestException;
import dev.hopx.http.HttpExchange;
import dev.hopx.http.RouteHandler;
import java.util.Map;

/** {@code DELETE /files/remove}: files, links and whole directories; never a root (case D14). */
final class FileRemoveEndpoint implements RouteHandler<AgentSession> {
  static final String REMOVED = "File deleted successfully";

  @Override
  public void handle(HttpExchange exchange, AgentSession session) {
    GuestPath path = GuestPath.parse(Parameters.path(exchange));
    if (path.value().equals("/") || session.roots().contains(path.value())) {
      throw new ApiException(
          ErrorCode.PATH_NOT_ALLOWED,
          "Path not allowed: " + path.value() + " itself cannot be removed, only what is in it",
          Map.of("path", path.value()));
    }
    try {
      session.files().remove(path.value(), true);
    } catch (GuestException failure) {
      throw GuestFailures.about(path, ErrorCode.FILE_NOT_FOUND, failure);
    }
    FileReply.send(exchange, path, 0, REMOVED);
  }
}
