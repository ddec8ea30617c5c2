package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.channel.GuestException;
import dev.hopx.channel.GuestFiles.GuestFileContent;
import dev.hopx.http.HttpExchange;
import dev.hopx.http.RouteHandler;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.Semaphore;

/**
 * {@code GET /files/read}: valid UTF-8 as text, anything else as base64 (decision 29). Which of
 * them is known at the file's end only, so its bytes are held in memory: at most {@link #MAX_SIZE}
 * of one file and {@link #MAX_IN_MEMORY} of all; who comes when that is full waits.
 */
final class FileReadEndpoint implements RouteHandler<AgentSession> {
  /** Bytes; as much as a body of {@code /files/write} can bring. */
  static final int MAX_SIZE = 64 << 20;

  static final int MAX_IN_MEMORY = 128 << 20;

  private static final int DECODED_AT_ONCE = 8 << 10;

  private final Semaphore memory = new Semaphore(MAX_IN_MEMORY, true);

  @Override
  public void handle(HttpExchange exchange, AgentSession session)
      throws IOException, InterruptedException {
    GuestPath path = GuestPath.parseFile(Parameters.path(exchange));
    try (GuestFileContent file = session.files().read(path.value(), 0, OptionalLong.empty())) {
      if (file.stat().size() > MAX_SIZE) {
        throw tooLarge(path);
      }
      // Files of /proc say 0 and have more.
      int room = (int) file.stat().size() + 1;
      memory.acquire(room);
      try {
        send(exchange, path, read(path, file, room));
      } finally {
        memory.release(room);
      }
    } catch (GuestException failure) {
      throw GuestFailures.about(path, ErrorCode.FILE_NOT_FOUND, failure);
    }
  }

  private static Content read(GuestPath path, GuestFileContent file, int room) throws IOException {
    byte[] bytes = new byte[room];
    int length = file.content().readNBytes(bytes, 0, room);
    if (length < room) {
      return new Content(bytes, length);
    }
    // It grew since it was opened.
    byte[] more = file.content().readNBytes(MAX_SIZE - room + 1);
    if (room + more.length > MAX_SIZE) {
      throw tooLarge(path);
    }
    byte[] all = Arrays.copyOf(bytes, room + more.length);
    System.arraycopy(more, 0, all, room, more.length);
    return new Content(all, all.length);
  }

  private static ApiException tooLarge(GuestPath path) {
    return new ApiException(
        ErrorCode.PAYLOAD_TOO_LARGE,
        "The file is larger than %d bytes; use /files/download: %s"
            .formatted(MAX_SIZE, path.value()),
        Map.of("path", path.value(), "limit", MAX_SIZE));
  }

  private static void send(HttpExchange exchange, GuestPath path, Content content)
      throws IOException {
    boolean isText = content.isUtf8();
    StreamedJson.send(
        exchange,
        json -> {
          json.writeName("content");
          if (isText) {
            json.writeUTF8String(content.bytes, 0, content.length);
          } else {
            json.writeBinary(content.bytes, 0, content.length);
          }
          json.writeStringProperty("encoding", isText ? "utf-8" : "base64");
          json.writeStringProperty("path", path.value());
          json.writeNumberProperty("size", content.length);
        });
  }

  /** The first bytes of an array. */
  private static final class Content {
    private final byte[] bytes;
    private final int length;

    Content(byte[] bytes, int length) {
      this.bytes = bytes;
      this.length = length;
    }

    boolean isUtf8() {
      CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();
      ByteBuffer input = ByteBuffer.wrap(bytes, 0, length);
      CharBuffer output = CharBuffer.allocate(DECODED_AT_ONCE);
      CoderResult result;
      do {
        output.clear();
        result = decoder.decode(input, output, true);
        if (result.isError()) {
          return false;
        }
      } while (result.isOverflow());
      return true;
    }
  }
}
