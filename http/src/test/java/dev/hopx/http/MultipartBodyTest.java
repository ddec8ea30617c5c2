package dev.hopx.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class MultipartBodyTest {
  private final TestServer server =
      TestServer.with(
          TestServer.router()
              .route(
                  HttpMethod.POST,
                  "/",
                  (exchange, context) -> {
                    List<List<String>> parts = new ArrayList<>();
                    MultipartReader reader = exchange.multipart();
                    for (Optional<MultipartReader.Part> part = reader.next();
                        part.isPresent();
                        part = reader.next()) {
                      String content =
                          new String(part.get().content().readAllBytes(), StandardCharsets.UTF_8);
                      parts.add(
                          List.of(part.get().name(), part.get().fileName().orElse("-"), content));
                    }
                    exchange.sendJson(200, parts);
                  })
              .route(
                  HttpMethod.POST,
                  "/sizes",
                  (exchange, context) -> {
                    List<Long> sizes = new ArrayList<>();
                    MultipartReader reader = exchange.multipart();
                    for (Optional<MultipartReader.Part> part = reader.next();
                        part.isPresent();
                        part = reader.next()) {
                      sizes.add(size(part.get().content()));
                    }
                    exchange.sendJson(200, sizes);
                  })
              .route(
                  HttpMethod.POST,
                  "/names",
                  (exchange, context) -> {
                    List<String> names = new ArrayList<>();
                    MultipartReader reader = exchange.multipart();
                    for (Optional<MultipartReader.Part> part = reader.next();
                        part.isPresent();
                        part = reader.next()) {
                      names.add(part.get().name());
                    }
                    exchange.sendJson(200, names);
                  }));

  @AfterEach
  void stop() {
    server.close();
  }

  @Test
  void givesPartsInTheirOrder() throws IOException {
    String body =
        "preamble\r\n--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"あ b.txt\"\r\n"
            + "Content-Type: text/plain\r\n\r\none\r\n--two\r\n\r\n"
            + "--B\r\nContent-Disposition: form-data; name=\"path\"\r\n\r\n/workspace/x\r\n"
            + "--B\r\nContent-Disposition: form-data; name=\"empty\"\r\n\r\n\r\n--B--\r\nepilogue";
    RawClient.Reply reply = post("/", "multipart/form-data; boundary=B", body);
    assertThat(reply.body())
        .isEqualTo(
            "[[\"file\",\"あ b.txt\",\"one\\r\\n--two\\r\\n\"],[\"path\",\"-\",\"/workspace/x\"],"
                + "[\"empty\",\"-\",\"\"]]");
    assertThat(reply.status()).isEqualTo(200);
  }

  @Test
  void understandsExtendedFileNamesAndQuotedBoundaries() throws IOException {
    String body =
        "--a b\r\nContent-Disposition: form-data; name=\"f\"; filename*=UTF-8''%E3%81%82.txt\r\n\r\n"
            + "x\r\n--a b--\r\n";
    RawClient.Reply reply = post("/", "Multipart/Form-Data; boundary=\"a b\"", body);
    assertThat(reply.body()).isEqualTo("[[\"f\",\"あ.txt\",\"x\"]]");
  }

  @Test
  void skipsWhatWasNotRead() throws IOException {
    String body =
        "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n"
            + "x".repeat(300_000)
            + "\r\n--B\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\ny\r\n--B--";
    assertThat(post("/names", "multipart/form-data; boundary=B", body).body())
        .isEqualTo("[\"a\",\"b\"]");
  }

  @Test
  void streamsPartsLargerThanTheHeap() throws IOException {
    long size = Runtime.getRuntime().maxMemory() + (64L << 20);
    byte[] piece = "\r\n--C boundary-like text\r\n".repeat(40_000).getBytes(StandardCharsets.UTF_8);
    long pieces = size / piece.length;
    String head = "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n";
    String tail = "\r\n--B\r\nContent-Disposition: form-data; name=\"path\"\r\n\r\n/x\r\n--B--\r\n";
    try (RawClient client = server.connect()) {
      client.send(
          "POST /sizes HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=B\r\n"
              + "Content-Length: %d\r\n\r\n%s"
                  .formatted(pieces * piece.length + head.length() + tail.length(), head));
      for (long index = 0; index < pieces; index++) {
        client.send(piece);
      }
      client.send(tail);
      assertThat(client.receive().body()).isEqualTo("[%d,2]".formatted(pieces * piece.length));
    }
  }

  @Test
  void brokenBodiesAreTheCallersError() throws IOException {
    String part = "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx";
    String long1 = "X: " + "y".repeat(MultipartBody.MAX_PART_HEAD) + "\r\n";
    String[] bodies = {"", "nothing", part, part + "\r\n--B", "--B\r\n" + long1 + "\r\nx\r\n--B--"};
    for (String body : bodies) {
      RawClient.Reply reply = post("/", "multipart/form-data; boundary=B", body);
      assertThat(reply.status()).as(body).isEqualTo(400);
      assertThat(reply.body()).as(body).contains("INVALID_REQUEST", "multipart");
    }
    assertThat(post("/", "multipart/form-data", part).status()).isEqualTo(400);
    assertThat(post("/", "application/json", part).status()).isEqualTo(415);
    assertThat(post("/", "", part).status()).isEqualTo(415);
  }

  @Test
  void tooManyPartsAreTheCallersError() throws IOException {
    String part = "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n";
    String allowed = part.repeat(MultipartBody.MAX_PARTS) + "--B--";
    assertThat(post("/names", "multipart/form-data; boundary=B", allowed).status()).isEqualTo(200);
    RawClient.Reply reply = post("/names", "multipart/form-data; boundary=B", part + allowed);
    assertThat(reply.status()).isEqualTo(400);
  }

  private RawClient.Reply post(String path, String type, String body) throws IOException {
    return server.exchange(
        "POST %s HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s"
            .formatted(path, type, body.getBytes(StandardCharsets.UTF_8).length, body));
  }

  private static long size(InputStream content) throws IOException {
    return content.transferTo(java.io.OutputStream.nullOutputStream());
  }
}
