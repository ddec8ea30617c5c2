package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.channel.FileStat;
import dev.hopx.channel.GuestException;
import dev.hopx.channel.GuestFiles.GuestFileSink;
import dev.hopx.http.HttpExchange;
import dev.hopx.http.RouteHandler;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Locale;
import java.util.OptionalInt;

/** {@code POST /files/write}: puts a file in place at once, with the directories above it. */
final class FileWriteEndpoint implements RouteHandler<AgentSession> {
  static final String WRITTEN = "File written successfully";

  @Override
  public void handle(HttpExchange exchange, AgentSession session) throws IOException {
    RequestBody body = RequestBody.of(exchange);
    GuestPath path = GuestPath.parseFile(body.required("path"));
    byte[] content = decode(body.required("content"), body.text("encoding").orElse("utf-8"));
    OptionalInt mode = FileModes.parse(body.text("mode"));
    boolean overwrite = body.flag("overwrite").orElse(true);
    FileStat written;
    try (GuestFileSink sink = session.files().write(path.value(), mode, true, !overwrite)) {
      GuestWrites.write(sink, content);
      written = sink.commit();
    } catch (GuestException failure) {
      throw GuestFailures.about(path, ErrorCode.PATH_NOT_ALLOWED, failure);
    }
    FileReply.send(exchange, path, written.size(), WRITTEN);
  }

  private static byte[] decode(String content, String encoding) {
    return switch (encoding.toLowerCase(Locale.ROOT)) {
      case "utf-8", "utf8", "text" -> content.getBytes(StandardCharsets.UTF_8);
      case "base64" -> decodeBase64(content);
      default ->
          throw ApiException.invalidField(
              "encoding", "'" + encoding + "' is not known; use utf-8 or base64");
    };
  }

  /** Strict but for line breaks, which many encoders put in. */
  private static byte[] decodeBase64(String content) {
    String text = content.indexOf('\n') >= 0 ? content.replaceAll("[\r\n]", "") : content;
    try {
      return Base64.getDecoder().decode(text);
    } catch (IllegalArgumentException malformed) {
      throw ApiException.invalidField("content", "is not valid base64");
    }
  }
}
