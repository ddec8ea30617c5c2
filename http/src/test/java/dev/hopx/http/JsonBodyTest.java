package dev.hopx.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

final class JsonBodyTest {
  private static final int LIMIT = 1 << 20;

  private final TestServer server =
      new TestServer(
          TestServer.options(LIMIT, Duration.ofSeconds(10)),
          TestServer.router()
              .route(
                  HttpMethod.POST,
                  "/",
                  (exchange, context) -> exchange.sendJson(200, exchange.jsonBody()))
              .handler(""));

  @AfterEach
  void stop() {
    server.close();
  }

  @Test
  void givesTheObject() throws IOException {
    String body = "{\"a\":[1,2.5,null,true],\"b\":{\"c\":\"あ\\u0000\"}}";
    assertThat(server.post("/", body).body()).isEqualTo(body);
  }

  @Test
  void emptyBodyIsAnEmptyObject() throws IOException {
    assertThat(server.post("/", "").body()).isEqualTo("{}");
    assertThat(server.post("/", " \n").body()).isEqualTo("{}");
    assertThat(server.exchange("POST / HTTP/1.1\r\nHost: h\r\n\r\n").body()).isEqualTo("{}");
  }

  static Stream<String> invalidBodies() {
    return Stream.of(
        "[]",
        "null",
        "1",
        "\"x\"",
        "{",
        "{\"a\":}",
        "{\"a\":1}x",
        "{\"a\":1}{}",
        "{\"a\":1,\"a\":2}",
        "{'a':1}",
        "{\"a\":NaN}",
        "{\"a\":01}",
        "{\"a\":\"\n\"}",
        "{\"a\":" + "1".repeat(Json.MAX_NUMBER_LENGTH + 1) + "}",
        "{\"a\":" + "[".repeat(Json.MAX_DEPTH) + "]".repeat(Json.MAX_DEPTH) + "}",
        "{\"a\":" + "[".repeat(100_000));
  }

  @ParameterizedTest
  @MethodSource("invalidBodies")
  void invalidJsonIsTheCallersError(String body) throws IOException {
    RawClient.Reply reply = server.post("/", body);
    assertThat(reply.status()).isEqualTo(400);
    assertThat(reply.body()).contains("INVALID_JSON", "Invalid JSON: ").doesNotContain("Source");
  }

  @ParameterizedTest
  @ValueSource(strings = {"\\ud800", "x\\udfff", "\\udc00\\ud800", "\\ud83d\\ud83d\\ude00"})
  void halfACharacterIsTheCallersError(String text) throws IOException {
    RawClient.Reply reply = server.post("/", "{\"a\":[{\"b\":\"" + text + "\"}]}");
    assertThat(reply.status()).isEqualTo(400);
    assertThat(reply.body()).contains("INVALID_JSON", "Invalid JSON: a.b holds half a surrogate");
  }

  @Test
  void aWholeSurrogatePairIsRead() throws IOException {
    assertThat(server.post("/", "{\"a\":\"\\ud83d\\ude00\"}").status()).isEqualTo(200);
  }

  @Test
  void nestingAtTheLimitIsRead() throws IOException {
    int inner = Json.MAX_DEPTH - 1;
    String body = "{\"a\":" + "[".repeat(inner) + "]".repeat(inner) + "}";
    assertThat(server.post("/", body).status()).isEqualTo(200);
  }

  @Test
  void bytesThatAreNotUtf8AreTheCallersError() throws IOException {
    byte[][] bodies = {
      {'{', '"', 'a', '"', ':', '"', (byte) 0xFF, '"', '}'},
      // Overlong and surrogate forms.
      {'{', '"', 'a', '"', ':', '"', (byte) 0xC0, (byte) 0x80, '"', '}'},
      {'{', '"', 'a', '"', ':', '"', (byte) 0xED, (byte) 0xA0, (byte) 0x80, '"', '}'},
      "{\"a\":1}".getBytes(StandardCharsets.UTF_16BE),
    };
    for (byte[] body : bodies) {
      try (RawClient client = server.connect()) {
        client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + body.length + "\r\n\r\n");
        RawClient.Reply reply = client.send(body).receive();
        assertThat(reply.status()).isEqualTo(400);
        assertThat(reply.body()).contains("INVALID_JSON");
      }
    }
  }

  @Test
  void bodyAtTheLimitIsReadAndAboveIs413OnALivingConnection() throws IOException {
    String frame = "{\"a\":\"\"}";
    String full = "{\"a\":\"" + "x".repeat(LIMIT - frame.length()) + "\"}";
    try (RawClient client = server.connect()) {
      client.send(request(full));
      assertThat(client.receive().body()).isEqualTo(full);
      client.send(request(full + " "));
      RawClient.Reply reply = client.receive();
      assertThat(reply.status()).isEqualTo(413);
      assertThat(reply.body()).contains("PAYLOAD_TOO_LARGE", Integer.toString(LIMIT));
      client.send(request("{}"));
      assertThat(client.receive().body()).isEqualTo("{}");
    }
  }

  @Test
  void clientThatSendsAllBeforeItReadsSeesThe413() throws IOException {
    String large = "{\"a\":\"" + "x".repeat(20 * LIMIT) + "\"}";
    RawClient.Reply reply = server.post("/", large);
    assertThat(reply.status()).isEqualTo(413);
  }

  @Test
  void chunkedBodiesAreBoundedToo() throws IOException {
    try (RawClient client = server.connect()) {
      client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
      String piece = "x".repeat(64 << 10);
      client.send("6\r\n{\"a\":\"\r\n");
      for (int index = 0; index < 17; index++) {
        client.send("10000\r\n" + piece + "\r\n");
      }
      client.send("2\r\n\"}\r\n0\r\n\r\n");
      assertThat(client.receive().status()).isEqualTo(413);
      client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
      client.send("7\r\n{\"a\":1}\r\n0\r\n\r\n");
      assertThat(client.receive().body()).isEqualTo("{\"a\":1}");
    }
  }

  @Test
  void bodyThatEndsEarlyHarmsNothing() throws IOException {
    try (RawClient client = server.connect()) {
      client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{\"a\":");
    }
    assertThat(server.post("/", "{}").status()).isEqualTo(200);
  }

  @Test
  void instantsAreWrittenWithMilliseconds() {
    record Times(Instant at, String none) {}

    assertThat(
            Json.mapper().writeValueAsString(new Times(Instant.parse("2026-01-01T00:00:00Z"), "")))
        .isEqualTo("{\"at\":\"2026-01-01T00:00:00.000Z\",\"none\":\"\"}");
    assertThat(Json.format(Instant.parse("2026-01-01T00:00:00.123456Z")))
        .isEqualTo("2026-01-01T00:00:00.123Z");
  }

  private static String request(String body) {
    return "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s"
        .formatted(body.length(), body);
  }
}
