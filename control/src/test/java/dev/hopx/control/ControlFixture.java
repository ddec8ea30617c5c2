package dev.hopx.control;

import dev.hopx.http.HttpServer;
import dev.hopx.http.HttpServerOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A control plane on a real database and a real HTTP port, over a fake machine. Owns and closes all
 * but the directory.
 */
final class ControlFixture implements AutoCloseable {
  static final int FIRST_PORT = 31_000;
  static final int LAST_PORT = 31_199;
  static final JsonMapper JSON = new JsonMapper();

  final Path directory;
  final TestClock clock = new TestClock();
  final FakeNode node = new FakeNode();
  final FakeCatalog catalog = new FakeCatalog();
  final HttpClient client = HttpClient.newHttpClient();
  FakeEndpoints endpoints = new FakeEndpoints();
  Store store;
  SandboxTokens tokens;
  ApiKeys keys;
  SandboxService service;
  HttpServer server;
  InetSocketAddress address;
  String adminKey;

  ControlFixture(Path directory) {
    this.directory = directory;
    start();
  }

  /** Comes up as a new process would: only directory and machine are as before. */
  private void start() {
    ControlSettings settings = new ControlSettings("1.2.3", "local", FIRST_PORT, LAST_PORT);
    store = Store.open(directory.resolve("hopx.db"));
    tokens = SandboxTokens.open(directory.resolve("token.key"), Duration.ofHours(24), clock);
    keys = new ApiKeys(store, clock);
    keys.bootstrap(directory.resolve("admin.key"));
    service = new SandboxService(settings, store, node, endpoints, clock);
    service.start();
    server = HttpServer.start(HttpServerOptions.defaults());
    address =
        server
            .listen(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                new ControlApi(settings, keys, service, tokens, catalog, store, clock).handler())
            .address();
    try {
      adminKey = Files.readString(directory.resolve("admin.key")).strip();
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  void stop() {
    server.close();
    service.close();
    store.close();
  }

  void restart() {
    restart(() -> {});
  }

  /** Runs {@code meanwhile} while no server is there, with endpoints forgotten as by the kernel. */
  void restart(Runnable meanwhile) {
    stop();
    endpoints = new FakeEndpoints();
    meanwhile.run();
    start();
  }

  @Override
  public void close() {
    client.close();
    stop();
  }

  Caller admin() {
    return keys.authenticate(adminKey).orElseThrow();
  }

  NewSandbox request() {
    return request(OptionalLong.empty());
  }

  NewSandbox request(OptionalLong timeoutSeconds) {
    return new NewSandbox(
        catalog.find("base").orElseThrow(),
        Optional.empty(),
        timeoutSeconds,
        true,
        Map.of("SECRET", "value"),
        "{}");
  }

  SandboxRecord create() {
    return service.create(admin(), request());
  }

  SandboxRecord create(long timeoutSeconds) {
    return service.create(admin(), request(OptionalLong.of(timeoutSeconds)));
  }

  Answer call(String method, String path) {
    return call(method, path, Optional.empty(), "X-API-Key", adminKey);
  }

  Answer call(String method, String path, String body) {
    return call(method, path, Optional.of(body), "X-API-Key", adminKey);
  }

  Answer call(String method, String path, Optional<String> body, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + address.getPort() + path))
            .timeout(Duration.ofSeconds(20))
            // The SDKs send it without a body, too.
            .header("Content-Type", "application/json")
            .method(
                method,
                body.map(HttpRequest.BodyPublishers::ofString)
                    .orElseGet(HttpRequest.BodyPublishers::noBody));
    if (headers.length > 0) {
      request.headers(headers);
    }
    try {
      HttpResponse<String> response =
          client.send(request.build(), HttpResponse.BodyHandlers.ofString());
      return new Answer(response.statusCode(), JSON.readTree(response.body()), response.headers());
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Status and parsed body of a response. */
  record Answer(int status, JsonNode body, HttpHeaders headers) {
    String text(String name) {
      return body.path(name).stringValue();
    }

    List<String> keys() {
      return List.copyOf(body.propertyNames());
    }
  }
}
