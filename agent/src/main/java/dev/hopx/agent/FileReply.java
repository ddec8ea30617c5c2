package dev.hopx.agent;

import dev.hopx.http.HttpExchange;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/** The response of every operation that changes files. */
final class FileReply {
  private FileReply() {}

  /**
   * @param size bytes of the file, 0 for a directory and for what was removed
   */
  static void send(HttpExchange exchange, GuestPath path, long size, String message) {
    Map<String, Object> reply = new LinkedHashMap<>();
    reply.put("success", true);
    reply.put("path", path.value());
    reply.put("size", size);
    reply.put("message", message);
    reply.put("timestamp", Instant.now());
    exchange.sendJson(200, reply);
  }
}
