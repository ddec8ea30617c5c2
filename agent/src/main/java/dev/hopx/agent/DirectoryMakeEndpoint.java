package dev.hopx.agent;

import dev.hopx.api.ErrorCode;
import dev.hopx.channel.GuestException;
import dev.hopx.http.HttpExchange;
import dev.hopx.http.RouteHandler;

/** {@code POST /files/mkdir}: with parents; a directory that is there is fine. */
final class DirectoryMakeEndpoint implements RouteHandler<AgentSession> {
  static final String MADE = "Directory created successfully";

  private static final int STANDARD_MODE = 0755;

  @Override
  public void handle(HttpExchange exchange, AgentSession session) {
    RequestBody body = RequestBody.of(exchange);
    GuestPath path = GuestPath.parse(body.required("path"));
    int mode = FileModes.parse(body.text("mode")).orElse(STANDARD_MODE);
    try {
      session.files().makeDirectory(path.value(), mode, true);
    } catch (GuestException failure) {
      throw GuestFailures.about(path, ErrorCode.PATH_NOT_ALLOWED, failure);
    }
    FileReply.send(exchange, path, 0, MADE);
  }
}
