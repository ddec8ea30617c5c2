package dev.hopx.http;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** A server on a port the kernel chose. */
final class TestServer implements AutoCloseable {
  static final ErrorDialect ERRORS =
      (error, exchange) -> {
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("dialect", "test");
        body.put("message", error.getMessage());
        body.put("code", error.code().name());
        body.put("request_id", exchange.requestId());
        return body;
      };

  private final HttpServer server;
  private final HttpServer.Listener listener;

  TestServer(HttpHandler handler) {
    this(HttpServerOptions.defaults(), handler);
  }

  TestServer(HttpServerOptions options, HttpHandler handler) {
    server = HttpServer.start(options);
    listener = server.listen(anyPort(), handler);
  }

  static TestServer with(Router<String> router) {
    return new TestServer(router.handler("context"));
  }

  static HttpServerOptions options(long maxJsonBody, Duration idle) {
    return new HttpServerOptions(maxJsonBody, idle, Duration.ofMillis(500));
  }

  static InetSocketAddress anyPort() {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  }

  static Router<String> router() {
    return new Router<>(ERRORS);
  }

  HttpServer server() {
    return server;
  }

  HttpServer.Listener listener() {
    return listener;
  }

  InetSocketAddress address() {
    return listener.address();
  }

  String url(String path) {
    return "http://127.0.0.1:" + address().getPort() + path;
  }

  RawClient connect() throws IOException {
    return new RawClient(address());
  }

  /** Sends one request on a connection of its own. */
  RawClient.Reply exchange(String text) throws IOException {
    try (RawClient client = connect()) {
      return client.send(text).receive();
    }
  }

  RawClient.Reply get(String target) throws IOException {
    return exchange("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }

  RawClient.Reply post(String target, String body) throws IOException {
    return exchange(
        "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s"
            .formatted(
                target, body.getBytes(java.nio.charset.StandardCharsets.UTF_8).length, body));
  }

  @Override
  public void close() {
    server.close();
  }
}
