package dev.hopx.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

final class RequestHeadTest {
  private final TestServer server =
      TestServer.with(
          TestServer.router()
              .route(
                  HttpMethod.GET,
                  "/echo/{name}",
                  (exchange, context) ->
                      exchange.sendText(200, "text/plain", exchange.pathParameter("name")))
              .route(
                  HttpMethod.GET,
                  "/query",
                  (exchange, context) -> exchange.sendJson(200, exchange.queryParameters()))
              .route(
                  HttpMethod.POST,
                  "/count",
                  (exchange, context) -> {
                    long count =
                        exchange.bodyStream().transferTo(java.io.OutputStream.nullOutputStream());
                    exchange.sendText(200, "text/plain", Long.toString(count));
                  }));

  @AfterEach
  void stop() {
    server.close();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET /echo/%zz HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /echo/%2 HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /echo/%ff%fe HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /echo/%00 HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /echo/a%0ab HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /echo/a%2fb HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /echo//b HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /echo/../query HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /echo/%2e%2e HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /echo/..;/b HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /query?a=%zz HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /query?%ff=1 HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /echo/a b HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /echo/a\\b HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /echo/a HTTP/1.1\r\n\r\n",
        "GET /echo/a HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n",
        "GET /echo/a HTTP/1.1\r\nHost: h\r\nbroken line\r\n\r\n",
        "GET /echo/a HTTP/1.1\r\nHost: h\r\nna me: x\r\n\r\n",
        "POST /count HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
        "POST /count HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "POST /count HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST /count HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /count HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n",
        "G\u0001T / HTTP/1.1\r\nHost: h\r\n\r\n",
        "hello\r\n\r\n",
        "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003\r\n\r\n",
      })
  void malformedRequestsAreTheCallersErrorInJson(String request) throws IOException {
    assertError(server.exchange(request), 400);
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET / HTTP/9.9\r\nHost: h\r\n\r\n", "GET /\r\n\r\n"})
  void foreignProtocolVersionsAreRefusedInJson(String request) throws IOException {
    RawClient.Reply reply = server.exchange(request);
    assertThat(reply.status()).isIn(400, 426, 505);
    assertError(reply, reply.status());
    assertThat(reply.body()).contains("INVALID_REQUEST");
  }

  @Test
  void requestLineAtItsLimitWorksAndAboveIs414() throws IOException {
    String head = "GET /echo/";
    String tail = " HTTP/1.1\r\nHost: h\r\n\r\n";
    int room = JettyHttpServer.MAX_REQUEST_HEAD - head.length() - tail.length();
    assertThat(server.exchange(head + "x".repeat(room - 16) + tail).status()).isEqualTo(200);
    assertError(server.exchange(head + "x".repeat(room + tail.length()) + tail), 414);
  }

  @Test
  void headersAtTheirLimitWorkAndAboveAre431() throws IOException {
    String head = "GET /echo/a HTTP/1.1\r\nHost: h\r\nX-Long: ";
    int room = JettyHttpServer.MAX_REQUEST_HEAD - head.length() - 4;
    assertThat(server.exchange(head + "x".repeat(room - 16) + "\r\n\r\n").status()).isEqualTo(200);
    assertError(server.exchange(head + "x".repeat(room + 16) + "\r\n\r\n"), 431);
  }

  @Test
  void pathParametersWithSemicolonsAreKept() throws IOException {
    assertThat(server.get("/echo/a;b=c").body()).isEqualTo("a;b=c");
  }

  @Test
  void absoluteTargetIsUnderstood() throws IOException {
    RawClient.Reply reply =
        server.exchange("GET http://localhost/echo/x HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.body()).isEqualTo("x");
  }

  @Test
  void keepsConnectionsAndAnswersPipelinedRequestsInOrder() throws IOException {
    try (RawClient client = server.connect()) {
      StringBuilder requests = new StringBuilder();
      for (int index = 0; index < 20; index++) {
        requests.append("GET /echo/%d HTTP/1.1\r\nHost: h\r\n\r\n".formatted(index));
      }
      client.send(requests.toString());
      Set<String> ids = new HashSet<>();
      for (int index = 0; index < 20; index++) {
        RawClient.Reply reply = client.receive();
        assertThat(reply.body()).isEqualTo(Integer.toString(index));
        ids.add(reply.header("X-Request-ID"));
      }
      assertThat(ids).hasSize(20).allMatch(id -> id.matches("req_[0-9a-f]{24}"));
    }
  }

  @Test
  void answersAClientThatSendsByteByByte() throws Exception {
    try (RawClient client = server.connect()) {
      String request = "POST /count HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
      for (int index = 0; index < request.length(); index++) {
        client.send(request.substring(index, index + 1));
        Thread.sleep(2);
      }
      assertThat(client.receive().body()).isEqualTo("3");
    }
  }

  @Test
  void cutsOffAClientThatNeverEndsItsHead() throws IOException {
    HttpServerOptions options =
        TestServer.options(HttpServerOptions.DEFAULT_MAX_JSON_BODY, Duration.ofMillis(300));
    try (TestServer impatient =
            new TestServer(options, exchange -> exchange.sendText(200, "text/plain", ""));
        RawClient client = impatient.connect()) {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n");
      long begun = System.nanoTime();
      while (client.read() >= 0) {
        // A status may come first; what matters is the end.
      }
      assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(Duration.ofSeconds(5));
    }
  }

  @Test
  void expectContinueIsAnsweredWhenTheBodyIsRead() throws IOException {
    try (RawClient client = server.connect()) {
      client.send(
          "POST /count HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
      assertThat(client.receive().status()).isEqualTo(100);
      client.send("abc");
      assertThat(client.receive().body()).isEqualTo("3");
    }
  }

  @Test
  void expectContinueIsNotAnsweredWhenTheBodyIsRefused() throws IOException {
    RawClient.Reply reply =
        server.exchange(
            "POST /none HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    assertThat(reply.status()).isEqualTo(404);
  }

  @Test
  void serves100RequestsAtOnce() throws Exception {
    try (TestServer slow =
            new TestServer(
                exchange -> {
                  Thread.sleep(200);
                  exchange.sendText(200, "text/plain", exchange.rawPath());
                });
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
        HttpClient client = HttpClient.newBuilder().executor(threads).build()) {
      List<Future<String>> replies = new ArrayList<>();
      for (int index = 0; index < 100; index++) {
        HttpRequest request =
            HttpRequest.newBuilder(URI.create(slow.url("/" + index)))
                .version(HttpClient.Version.HTTP_1_1)
                .build();
        replies.add(threads.submit(() -> client.send(request, BodyHandlers.ofString()).body()));
      }
      for (int index = 0; index < 100; index++) {
        assertThat(replies.get(index).get()).isEqualTo("/" + index);
      }
    }
  }

  private static void assertError(RawClient.Reply reply, int status) {
    assertThat(reply.status()).isEqualTo(status);
    assertThat(reply.header("Content-Type")).startsWith("application/json");
    JsonNode body = Json.mapper().readTree(reply.body());
    assertThat(body.path("message").stringValue("")).isNotBlank();
    assertThat(body.path("code").stringValue("")).isNotBlank();
    assertThat(body.path("request_id").stringValue(""))
        .isEqualTo(reply.header("X-Request-ID"))
        .startsWith("req_");
  }
}
