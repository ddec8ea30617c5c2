package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.channel.FileStat;
import dev.hopx.channel.GuestException;
import dev.hopx.channel.GuestFiles.GuestFileContent;
import dev.hopx.http.HttpExchange;
import dev.hopx.http.RouteHandler;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** {@code GET /files/download}: the raw bytes of a file of any size, whole or one range of them. */
final class FileDownloadEndpoint implements RouteHandler<AgentSession> {
  private static final String CONTENT_TYPE = "application/octet-stream";
  private static final int BUFFER = 64 << 10;

  @Override
  public void handle(HttpExchange exchange, AgentSession session) throws IOException {
    GuestPath path = GuestPath.parseFile(Parameters.path(exchange));
    try {
      Optional<String> range = exchange.header("Range").filter(ByteRange::isSingle);
      if (range.isPresent()) {
        sendRange(exchange, session, path, range.get());
      } else {
        sendWhole(exchange, session, path);
      }
    } catch (GuestException failure) {
      throw GuestFailures.about(path, ErrorCode.FILE_NOT_FOUND, failure);
    }
  }

  private static void sendWhole(HttpExchange exchange, AgentSession session, GuestPath path)
      throws IOException {
    try (GuestFileContent file = session.files().read(path.value(), 0, OptionalLong.empty())) {
      describe(exchange, path, file.stat());
      if (matches(exchange.header("If-None-Match"), file.stat())) {
        exchange.sendStream(304, CONTENT_TYPE, -1).close();
        return;
      }
      long size = file.stat().size();
      if (size <= Base64Trap.MAX_SIZE && Base64Trap.concerns(exchange)) {
        sendDisarmed(exchange, file.content(), (int) size);
        return;
      }
      sendBytes(exchange, 200, file.content(), size);
    }
  }

  private static void sendRange(
      HttpExchange exchange, AgentSession session, GuestPath path, String header)
      throws IOException {
    FileStat stat = session.files().stat(path.value(), true);
    Optional<String> condition = exchange.header("If-Range");
    if (stat.kind() != FileStat.Kind.FILE
        || (condition.isPresent() && !condition.get().equals(entityTag(stat)))) {
      sendWhole(exchange, session, path);
      return;
    }
    Optional<ByteRange> range = ByteRange.within(header, stat.size());
    if (range.isEmpty()) {
      exchange.responseHeader("Content-Range", "bytes */" + stat.size());
      Map<String, Object> details = new LinkedHashMap<>();
      details.put("path", path.value());
      details.put("size", stat.size());
      throw new ApiException(
          ErrorCode.RANGE_NOT_SATISFIABLE,
          "The file has no bytes in this range: " + path.value(),
          details);
    }
    long length = range.get().length();
    try (GuestFileContent file =
        session.files().read(path.value(), range.get().first(), OptionalLong.of(length))) {
      describe(exchange, path, stat);
      exchange.responseHeader("Content-Range", range.get().contentRange(stat.size()));
      sendBytes(exchange, 206, file.content(), length);
    }
  }

  private static void describe(HttpExchange exchange, GuestPath path, FileStat stat) {
    exchange.responseHeader("Content-Disposition", ContentDisposition.attachment(path.name()));
    exchange.responseHeader("ETag", entityTag(stat));
    exchange.responseHeader("Accept-Ranges", "bytes");
    // The content is the user's: no browser is to run it in the agent's origin.
    exchange.responseHeader("X-Content-Type-Options", "nosniff");
  }

  private static void sendBytes(HttpExchange exchange, int status, InputStream content, long length)
      throws IOException {
    // Only a complete body is closed: otherwise the connection is cut and the client notices.
    OutputStream body = exchange.sendStream(status, CONTENT_TYPE, length);
    byte[] buffer = new byte[BUFFER];
    long left = length;
    while (left > 0) {
      int count = content.read(buffer, 0, (int) Math.min(buffer.length, left));
      if (count < 0) {
        throw new IOException("The file became shorter while it was read");
      }
      body.write(buffer, 0, count);
      left -= count;
    }
    body.close();
  }

  private static void sendDisarmed(HttpExchange exchange, InputStream content, int size)
      throws IOException {
    byte[] bytes = Base64Trap.disarm(content.readNBytes(size));
    try (OutputStream body = exchange.sendStream(200, CONTENT_TYPE, bytes.length)) {
      body.write(bytes);
    }
  }

  private static boolean matches(Optional<String> header, FileStat stat) {
    String tag = entityTag(stat);
    return header.isPresent()
        && Arrays.stream(header.get().split(","))
            .map(String::strip)
            .anyMatch(
                wanted -> wanted.equals("*") || wanted.equals(tag) || wanted.equals("W/" + tag));
  }

  private static String entityTag(FileStat stat) {
    Instant modified = stat.modified();
    return "\"%x-%x-%x-%x\""
        .formatted(stat.inode(), stat.size(), modified.getEpochSecond(), modified.getNano());
  }
}
