package dev.hopx.agent;

import dev.hopx.channel.Guest;
import dev.hopx.http.HttpServer;
import dev.hopx.http.HttpServerOptions;
import dev.hopx.http.Json;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/** The agent of one real guest behind a real port, and a client for it. */
final class TestAgent implements AutoCloseable {
  static final String TOKEN = "token-of-the-test";

  final AtomicBoolean alive = new AtomicBoolean(true);
  final TestPause pause;

  private final Path state;
  private final HttpServer server;
  private final HttpServer.Listener listener;
  private final HttpClient client;

  private TestAgent(Path state, HttpServer server, HttpServer.Listener listener, TestPause pause) {
    this.pause = pause;
    this.state = state;
    this.server = server;
    this.listener = listener;
    this.client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  }

  static TestAgent start(Guest guest) throws IOException {
    return start(guest, Files.createTempDirectory("hopx-agent-state"));
  }

  static TestAgent start(Guest guest, Path state) {
    HttpServer server = HttpServer.start(HttpServerOptions.defaults());
    AtomicBoolean[] alive = new AtomicBoolean[1];
    TestSandbox sandbox = new TestSandbox(guest, state, () -> alive[0].get());
    HttpServer.Listener listener =
        server.listen(new InetSocketAddress("127.0.0.1", 0), new AgentApi().handler(sandbox));
    TestAgent agent = new TestAgent(state, server, listener, sandbox.pause());
    alive[0] = agent.alive;
    return agent;
  }

  Path state() {
    return state;
  }

  InetSocketAddress address() {
    return listener.address();
  }

  HttpRequest.Builder request(String path) {
    return bare(path).header("Authorization", "Bearer " + TOKEN);
  }

  HttpRequest.Builder bare(String path) {
    return HttpRequest.newBuilder(
            URI.create("http://127.0.0.1:" + listener.address().getPort() + path))
        .timeout(Duration.ofMinutes(2));
  }

  Reply send(HttpRequest.Builder request) throws IOException, InterruptedException {
    HttpResponse<byte[]> response =
        client.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
    return new Reply(response.statusCode(), response.headers(), response.body());
  }

  /** Bytes of a successful response that is too large to hold. */
  long length(String path) throws IOException, InterruptedException {
    HttpResponse<java.io.InputStream> response =
        client.send(request(path).build(), HttpResponse.BodyHandlers.ofInputStream());
    if (response.statusCode() != 200) {
      throw new AssertionError("Status " + response.statusCode());
    }
    try (java.io.InputStream body = response.body()) {
      return body.transferTo(java.io.OutputStream.nullOutputStream());
    }
  }

  Reply get(String path) throws IOException, InterruptedException {
    return send(request(path));
  }

  Reply delete(String path) throws IOException, InterruptedException {
    return send(request(path).DELETE());
  }

  Reply post(String path, Map<String, ?> body) throws IOException, InterruptedException {
    return post(path, Json.mapper().writeValueAsString(body));
  }

  Reply post(String path, String body) throws IOException, InterruptedException {
    return method("POST", path, body);
  }

  Reply method(String method, String path, String body) throws IOException, InterruptedException {
    return send(
        request(path)
            .header("Content-Type", "application/json")
            .method(method, BodyPublishers.ofString(body)));
  }

  /** Shell text by {@code /commands/run}. */
  Reply shell(String text) throws IOException, InterruptedException {
    return post("/commands/run", Map.of("command", text));
  }

  Reply run(String language, String code) throws IOException, InterruptedException {
    return post("/execute", Map.of("language", language, "code", code, "timeout", 110));
  }

  Reply write(String path, String content) throws IOException, InterruptedException {
    return post("/files/write", Map.of("path", path, "content", content));
  }

  static String query(String path) {
    return "?path=" + URLEncoder.encode(path, StandardCharsets.UTF_8);
  }

  @Override
  public void close() throws IOException {
    client.close();
    server.close();
    try (var paths = Files.walk(state)) {
      for (Path path : paths.sorted(java.util.Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
  }
}
