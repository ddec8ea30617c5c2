package dev.hopx.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.hopx.http.Json;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** The program as a process of its own: how it starts, says so, refuses and stops. */
final class ServerProcessTest {
  private static final Duration START = Duration.ofSeconds(60);
  private static final String INSTANCE = "hopxts";

  @TempDir Path directory = Path.of("");

  private final List<Process> processes = new ArrayList<>();
  private int port;

  @BeforeEach
  void needs() throws IOException {
    assumeTrue(
        "root".equals(System.getProperty("user.name")),
        "SKIPPED: needs root (namespaces, mounts, control groups)");
    assumeTrue(
        Files.isExecutable(Path.of("/usr/bin/crun")) && hasCommand("nft"),
        "SKIPPED: needs crun and nftables");
    assumeTrue(
        !Files.exists(Path.of("/sys/fs/cgroup/unified/cgroup.procs")),
        "SKIPPED: hybrid control groups; run within: unshare --mount sh -c"
            + " 'umount /sys/fs/cgroup/unified; …'");
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = socket.getLocalPort();
    }
  }

  @AfterEach
  void leaveNothing() throws Exception {
    for (Process process : processes) {
      process.destroyForcibly().waitFor();
    }
    for (List<String> command :
        List.of(
            List.of("nft", "delete", "table", "inet", INSTANCE),
            List.of("rm", "-rf", "--one-file-system", runDirectory().toString()))) {
      new ProcessBuilder(command)
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.DISCARD)
          .start()
          .waitFor();
    }
  }

  @Test
  void startsServesRefusesASecondOneAndStops() throws Exception {
    Process server = start("--log-format", "json", "--log-level", "debug");
    String url = ready(server, "first");
    assertThat(url).isEqualTo("http://127.0.0.1:" + port);

    HttpResponse<String> health = get("/health", "");
    assertThat(health.statusCode()).isEqualTo(200);
    assertThat(Json.mapper().readTree(health.body()).path("status").stringValue(""))
        .isEqualTo("healthy");
    Path keyFile = data().resolve("admin.key");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(keyFile)))
        .isEqualTo("rw-------");
    String key = Files.readString(keyFile).strip();
    assertThat(get("/v1/sandboxes", "").statusCode()).isEqualTo(401);
    assertThat(get("/v1/sandboxes?token=hidden-value", key).statusCode()).isEqualTo(200);
    assertThat(runDirectory().resolve("server.pid")).hasContent(server.pid() + "\n");

    Process second = start("--port", Integer.toString(port == 65535 ? port - 1 : port + 1));
    assertThat(second.waitFor(START.toSeconds(), TimeUnit.SECONDS)).isTrue();
    assertThat(second.exitValue()).isEqualTo(Main.USAGE);
    assertThat(errorsOf(second)).contains("Another server uses", Long.toString(server.pid()));

    server.destroy();
    assertThat(server.waitFor(10, TimeUnit.SECONDS)).isTrue();
    assertThat(runDirectory().resolve("server.pid")).doesNotExist();
    String log = errorsOf(server);
    assertThat(log).doesNotContain(key).doesNotContain("hidden-value");
    boolean logged = false;
    for (String line : log.lines().toList()) {
      JsonNode entry = Json.mapper().readTree(line);
      assertThat(entry.path("level").stringValue("")).isNotEmpty();
      logged |= entry.path("path").stringValue("").equals("/v1/sandboxes");
    }
    assertThat(logged).isTrue();

    Process again = start();
    ready(again, "again");
    assertThat(get("/v1/sandboxes", key).statusCode()).as("the same key").isEqualTo(200);
  }

  @Test
  void takenPortIsSaid() throws Exception {
    try (ServerSocket other = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
      assertThat(other.isBound()).isTrue();
      Process server = start();
      assertThat(server.waitFor(START.toSeconds(), TimeUnit.SECONDS)).isTrue();
      assertThat(server.exitValue()).isEqualTo(Main.USAGE);
      assertThat(errorsOf(server)).contains("hopx: ", Integer.toString(port), "HOPX_PORT");
    }
  }

  private String ready(Process server, String which) throws IOException {
    long begun = System.nanoTime();
    @Nullable String line = server.inputReader().readLine();
    System.out.printf(
        "%s start to ready: %d ms%n",
        which, TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun));
    assertThat(line).as(() -> errorsOf(server)).isNotNull().startsWith("hopx is ready: ");
    return String.valueOf(line).substring("hopx is ready: ".length());
  }

  private Process start(String... flags) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            "--enable-native-access=ALL-UNNAMED",
            "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
            "-XX:+UseSerialGC",
            "-Xmx256m",
            "-cp",
            System.getProperty("java.class.path"),
            Main.class.getName(),
            "serve"));
    command.addAll(List.of(flags));
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().put("HOPX_DATA_DIR", data().toString());
    builder.environment().put("HOPX_RUN_DIR", runDirectory().toString());
    builder.environment().put("HOPX_INSTANCE", INSTANCE);
    builder.environment().put("HOPX_SANDBOX_SUBNET", "10.97.0.0/16");
    builder.environment().put("HOPX_PORT", Integer.toString(port));
    builder.environment().put("HOPX_AGENT_PORTS", "11500-11599");
    builder.redirectError(errorFile(processes.size()).toFile());
    Process process = builder.start();
    processes.add(process);
    return process;
  }

  private HttpResponse<String> get(String path, String key) throws Exception {
    try (HttpClient client = HttpClient.newHttpClient()) {
      HttpRequest.Builder request =
          HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path));
      if (!key.isEmpty()) {
        request.header("X-API-Key", key);
      }
      return client.send(request.build(), BodyHandlers.ofString());
    }
  }

  private String errorsOf(Process process) {
    try {
      return Files.readString(errorFile(processes.indexOf(process)));
    } catch (IOException failure) {
      return failure.toString();
    }
  }

  private Path errorFile(int index) {
    return directory.resolve("errors-" + index);
  }

  private Path data() {
    return directory.resolve("data");
  }

  private static Path runDirectory() {
    return Path.of("/run/" + INSTANCE);
  }

  private static boolean hasCommand(String name) {
    return List.of("/usr/sbin", "/sbin", "/usr/bin").stream()
        .anyMatch(directory -> Files.isExecutable(Path.of(directory, name)));
  }
}
