package dev.hopx.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A real hopx server in a process of its own, with directories, ports and an instance name of its
 * own. Owns that process and its data directory; {@link #close} deletes every sandbox first.
 */
final class RunningServer implements AutoCloseable {
  private static final JsonMapper JSON = new JsonMapper();
  private static final Duration START_LIMIT = Duration.ofSeconds(60);

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final Path directory;
  private final Map<String, String> environment = new TreeMap<>();
  private final int port;
  private @Nullable Process process;

  private RunningServer(Path directory, int port, String instance, int subnet) {
    this.directory = directory;
    this.port = port;
    environment.put("HOPX_DATA_DIR", directory.resolve("data").toString());
    environment.put("HOPX_RUN_DIR", "/run/" + instance);
    environment.put("HOPX_TEMPLATE_STORE", templateStore().toString());
    environment.put("HOPX_PORT", Integer.toString(port));
    environment.put("HOPX_AGENT_PORTS", (port + 1) + "-" + (port + 400));
    environment.put("HOPX_INSTANCE", instance);
    environment.put("HOPX_SANDBOX_SUBNET", "10." + subnet + ".0.0/16");
  }

  /** Starts a server with fresh directories; skips the test loudly where none can run. */
  static RunningServer start(String name) {
    assumeRoot();
    assumeTemplate("code-interpreter");
    try {
      int port = freePort();
      // Interface names end up from the instance's name: short and distinct.
      String instance = "hopxt" + (port % 1000);
      RunningServer server =
          new RunningServer(
              Files.createTempDirectory("hopx-" + name), port, instance, 100 + port % 100);
      server.launch();
      return server;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static void assumeRoot() {
    assumeTrue(
        "root".equals(System.getProperty("user.name")),
        "SKIPPED: needs root (namespaces, mounts, control groups)");
  }

  private static void assumeTemplate(String name) {
    assumeTrue(
        Files.isDirectory(templateStore()),
        "SKIPPED: no template store at "
            + templateStore()
            + "; run ./hopx test, which prepares the template "
            + name);
  }

  static Path templateStore() {
    String store = System.getenv("HOPX_TEST_TEMPLATE_STORE");
    return Path.of(store == null ? "/var/lib/hopx/templates" : store);
  }

  private static int freePort() throws IOException {
    // The agents' ports lie right above; a random base below the ephemeral range keeps test
    // processes apart.
    Random random = new Random();
    for (int attempt = 0; attempt < 50; attempt++) {
      int candidate = 12000 + 1000 * random.nextInt(16) + random.nextInt(400);
      if (isFree(candidate)) {
        return candidate;
      }
    }
    throw new IOException("No free port found");
  }

  private static boolean isFree(int port) throws IOException {
    try (ServerSocket socket = new ServerSocket(port)) {
      return socket.isBound();
    } catch (BindException e) {
      return false;
    }
  }

  void launch() {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            "--enable-native-access=ALL-UNNAMED",
            "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
            "-Xmx512m",
            "-XX:+UseSerialGC",
            "-cp",
            System.getProperty("java.class.path"),
            "dev.hopx.server.Main",
            "serve"));
    try {
      ProcessBuilder builder =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.appendTo(log().toFile()));
      builder.environment().putAll(environment);
      Process started = builder.start();
      process = started;
      Instant deadline = Instant.now().plus(START_LIMIT);
      while (!healthy()) {
        if (!started.isAlive() || Instant.now().isAfter(deadline)) {
          throw new AssertionError("The server did not start:\n" + logText());
        }
        TimeUnit.MILLISECONDS.sleep(50);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("Interrupted while the server started", e);
    }
  }

  private boolean healthy() throws InterruptedException {
    try {
      HttpResponse<String> response =
          http.send(
              HttpRequest.newBuilder(URI.create(baseUrl() + "/health"))
                  .timeout(Duration.ofSeconds(2))
                  .build(),
              HttpResponse.BodyHandlers.ofString());
      return response.statusCode() == 200;
    } catch (IOException e) {
      return false;
    }
  }

  /** As a power cut would: no orderly end. */
  void killHard() {
    Process running = process;
    if (running != null) {
      running.destroyForcibly().onExit().join();
    }
  }

  String baseUrl() {
    return "http://127.0.0.1:" + port;
  }

  String apiKey() {
    try {
      return Files.readString(directory.resolve("data/admin.key")).strip();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  Path directory() {
    return directory;
  }

  String instance() {
    return environment.getOrDefault("HOPX_INSTANCE", "");
  }

  /** What a client's program finds in its environment. */
  Map<String, String> clientEnvironment() {
    return Map.of(
        "HOPX_BASE_URL", baseUrl(),
        "HOPX_API_KEY", apiKey(),
        "HOPX_TEST_DIRECTORY", directory.toString());
  }

  private Path log() {
    return directory.resolve("server.log");
  }

  String logText() {
    try {
      return Files.exists(log())
          ? Files.readString(log(), StandardCharsets.ISO_8859_1)
          : "(no log)";
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create(baseUrl() + path)).header("X-API-Key", apiKey());
  }

  Reply send(HttpRequest request) {
    try {
      HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
      return new Reply(response.statusCode(), response.headers(), response.body());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("Interrupted", e);
    }
  }

  Reply get(String path) {
    return send(request(path).build());
  }

  Reply post(String path, String body) {
    return send(request(path).POST(HttpRequest.BodyPublishers.ofString(body)).build());
  }

  Reply delete(String path) {
    return send(request(path).DELETE().build());
  }

  /** Creates a sandbox of {@code template} and gives access to its agent. */
  AgentClient createSandbox(String template) {
    Reply reply = post("/v1/sandboxes", "{\"template_name\":\"" + template + "\"}");
    assertThat(reply.status()).as(reply.body()).isEqualTo(201);
    return agent(reply.json());
  }

  /** Agent of the sandbox that {@code sandbox} describes. */
  AgentClient agent(JsonNode sandbox) {
    return new AgentClient(
        http,
        sandbox.get("id").asString(),
        sandbox.get("public_host").asString(),
        sandbox.get("auth_token").asString());
  }

  @Override
  public void close() {
    Process running = process;
    try {
      if (running != null && running.isAlive()) {
        JsonNode sandboxes = get("/v1/sandboxes?limit=1000").json().get("data");
        for (JsonNode sandbox : sandboxes) {
          delete("/v1/sandboxes/" + sandbox.get("id").asString());
        }
      }
    } finally {
      if (running != null) {
        running.destroy();
        if (running.onExit().completeOnTimeout(running, 20, TimeUnit.SECONDS).join().isAlive()) {
          running.destroyForcibly().onExit().join();
        }
      }
      Run.of(
          Path.of("/"),
          Map.of(),
          Duration.ofMinutes(1),
          List.of("rm", "-rf", "--one-file-system", directory.toString(), "/run/" + instance()));
    }
  }

  static JsonMapper json() {
    return JSON;
  }
}
