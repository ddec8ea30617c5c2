package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.channel.GuestException;
import dev.hopx.channel.GuestFiles.GuestFileContent;
import dev.hopx.http.HttpExchange;
import dev.hopx.http.RouteHandler;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;

/**
 * {@code GET /files/read}: valid UTF-8 as text, anything else as base64 (decision 29). The whole
 * file is held in memory, so its size is limited.
 */
final class FileReadEndpoint implements RouteHandler<AgentSession> {
  /** Bytes; as much as a body of {@code /files/write} can bring. */
  static final int MAX_SIZE = 64 << 20;

  @Override
  public void handle(HttpExchange exchange, AgentSession session) throws IOException {
    GuestPath path = GuestPath.parseFile(Parameters.path(exchange));
    byte[] bytes;
    try {
      bytes = read(session, path);
    } catch (GuestException failure) {
      throw GuestFailures.about(path, ErrorCode.FILE_NOT_FOUND, failure);
    }
    Map<String, Object> reply = new LinkedHashMap<>();
    try {
      reply.put("content", strictDecode(bytes));
      reply.put("encoding", "utf-8");
    } catch (CharacterCodingException binary) {
      reply.put("content", Base64.getEncoder().encodeToString(bytes));
      reply.put("encoding", "base64");
    }
    reply.put("path", path.value());
    reply.put("size", bytes.length);
    exchange.sendJson(200, reply);
  }

  private static byte[] read(AgentSession session, GuestPath path) throws IOException {
    try (GuestFileContent file = session.files().read(path.value(), 0, OptionalLong.empty())) {
      byte[] bytes = file.content().readNBytes(MAX_SIZE + 1);
      if (bytes.length > MAX_SIZE) {
        throw new ApiException(
            ErrorCode.PAYLOAD_TOO_LARGE,
            "The file is larger than %d bytes; use /files/download: %s"
                .formatted(MAX_SIZE, path.value()),
            Map.of("path", path.value(), "limit", MAX_SIZE));
      }
      return bytes;
    }
  }

  private static String strictDecode(byte[] bytes) throws CharacterCodingException {
    return StandardCharsets.UTF_8
        .newDecoder()
        .onMalformedInput(CodingErrorAction.REPORT)
        .onUnmappableCharacter(CodingErrorAction.REPORT)
        .decode(ByteBuffer.wrap(bytes))
        .toString();
  }
}
