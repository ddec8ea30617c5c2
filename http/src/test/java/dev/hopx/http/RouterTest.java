package dev.hopx.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hopx.api.ApiException;
import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class RouterTest {
  private final TestServer server =
      TestServer.with(
          TestServer.router()
              .route(HttpMethod.GET, "/", (exchange, context) -> text(exchange, "root"))
              .route(HttpMethod.GET, "/a/{id}", (exchange, context) -> id(exchange))
              .route(HttpMethod.DELETE, "/a/{id}", (exchange, context) -> id(exchange))
              .route(HttpMethod.GET, "/a/stream", (exchange, context) -> text(exchange, "literal"))
              .route(HttpMethod.POST, "/a/{id}/b", (exchange, context) -> id(exchange))
              .route(HttpMethod.GET, "/a/stream/c", (exchange, context) -> text(exchange, "c"))
              .route(HttpMethod.GET, "/context", (exchange, context) -> text(exchange, context))
              .route(
                  HttpMethod.GET,
                  "/query",
                  (exchange, context) -> exchange.sendJson(200, exchange.queryParameters()))
              .route(
                  HttpMethod.GET,
                  "/invalid",
                  (exchange, context) -> {
                    throw ApiException.invalidField("size", "must be positive");
                  })
              .route(
                  HttpMethod.GET,
                  "/broken",
                  (exchange, context) -> {
                    throw new IllegalStateException("secret detail");
                  })
              .route(HttpMethod.GET, "/silent", (exchange, context) -> {}));

  @AfterEach
  void stop() {
    server.close();
  }

  @Test
  void routesByPathAndMethod() throws IOException {
    assertThat(server.get("/").body()).isEqualTo("root");
    assertThat(server.get("/a/7").body()).isEqualTo("7");
    assertThat(server.get("/a/7/").body()).isEqualTo("7");
    assertThat(server.get("/context").body()).isEqualTo("context");
    assertThat(server.post("/a/7/b", "").body()).isEqualTo("7");
  }

  @Test
  void literalsWinOverParametersAndFallBackToThem() throws IOException {
    assertThat(server.get("/a/stream").body()).isEqualTo("literal");
    assertThat(server.get("/a/stream/c").body()).isEqualTo("c");
    assertThat(server.post("/a/stream/b", "").body()).isEqualTo("stream");
  }

  @Test
  void decodesSegmentsOnceAsUtf8() throws IOException {
    assertThat(server.get("/a/%E3%81%82%20b+c").body()).isEqualTo("あ b+c");
    assertThat(server.get("/a/100%2525").body()).isEqualTo("100%25");
  }

  @Test
  void givesTheQueryInOrder() throws IOException {
    assertThat(server.get("/query?b=1+2&a=%E3%81%82&b=%2B&flag&=x").body())
        .isEqualTo("{\"b\":[\"1 2\",\"+\"],\"a\":[\"あ\"],\"flag\":[\"\"],\"\":[\"x\"]}");
  }

  @Test
  void unknownPathIsNotFoundInTheDialect() throws IOException {
    for (String path : new String[] {"/nothing", "/a", "/a/7/b/c", "/a//", "/A/7"}) {
      RawClient.Reply reply = server.get(path);
      assertThat(reply.status()).as(path).isIn(404, 400);
      assertThat(reply.body()).as(path).contains("\"request_id\":\"req_");
    }
    RawClient.Reply reply = server.get("/nothing");
    assertThat(reply.status()).isEqualTo(404);
    assertThat(reply.body()).contains("\"dialect\":\"test\"", "RESOURCE_NOT_FOUND", "/nothing");
  }

  @Test
  void otherMethodIsNotAllowedWithTheAllowedOnes() throws IOException {
    for (String method : new String[] {"PUT", "OPTIONS", "TRACE", "PROPFIND", "get"}) {
      RawClient.Reply reply =
          server.exchange(method + " /a/7 HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
      assertThat(reply.status()).as(method).isEqualTo(405);
      assertThat(reply.header("Allow")).isEqualTo("DELETE, GET, HEAD");
      assertThat(reply.body()).contains("METHOD_NOT_ALLOWED", method);
    }
  }

  @Test
  void headIsAnsweredByTheRouteForGetWithoutABody() throws IOException {
    try (RawClient client = server.connect()) {
      for (int round = 0; round < 2; round++) {
        client.send("HEAD /a/seven HTTP/1.1\r\nHost: h\r\n\r\n");
        RawClient.Reply reply = client.receive(false);
        assertThat(reply.status()).isEqualTo(200);
        assertThat(reply.header("Content-Length")).isEqualTo("5");
      }
      client.send("HEAD /nothing HTTP/1.1\r\nHost: h\r\n\r\n");
      assertThat(client.receive(false).status()).isEqualTo(404);
      client.send("GET /a/seven HTTP/1.1\r\nHost: h\r\n\r\n");
      assertThat(client.receive().body()).isEqualTo("seven");
    }
  }

  @Test
  void failuresAreRenderedAndNamedByRequestId() throws IOException {
    RawClient.Reply invalid = server.get("/invalid");
    assertThat(invalid.status()).isEqualTo(400);
    assertThat(invalid.body()).contains("Invalid size: must be positive", "INVALID_REQUEST");
    assertThat(invalid.body()).contains(invalid.header("X-Request-ID"));

    RawClient.Reply broken = server.get("/broken");
    assertThat(broken.status()).isEqualTo(500);
    assertThat(broken.body()).contains("INTERNAL_ERROR").doesNotContain("secret");
    assertThat(broken.body()).contains(broken.header("X-Request-ID"));

    RawClient.Reply silent = server.get("/silent");
    assertThat(silent.status()).isEqualTo(500);
    assertThat(silent.body()).contains("INTERNAL_ERROR");
  }

  @Test
  void refusesTwoRoutesForOnePath() {
    Router<Map<String, String>> router = new Router<>(TestServer.ERRORS);
    router.route(HttpMethod.GET, "/x/{a}", (exchange, context) -> {});
    assertThatThrownBy(() -> router.route(HttpMethod.GET, "/x/{b}", (exchange, context) -> {}))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("/x/{b}");
    assertThat(router.routes()).extracting(Router.Route::path).containsExactly("/x/{a}");
  }

  private static void id(HttpExchange exchange) {
    text(exchange, exchange.pathParameter("id"));
  }

  private static void text(HttpExchange exchange, String text) {
    exchange.sendText(200, "text/plain; charset=utf-8", text);
  }
}
