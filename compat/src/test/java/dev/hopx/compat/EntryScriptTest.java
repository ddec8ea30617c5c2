package dev.hopx.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** The newcomer's way: {@code ./hopx up -d}, {@code env}, {@code status}, {@code down}. */
@NullUnmarked // fields are set by the life cycle of JUnit
final class EntryScriptTest {
  private static final Duration LIMIT = Duration.ofMinutes(5);

  private Path directory;
  private Map<String, String> environment;

  @BeforeEach
  void own() throws IOException {
    RunningServer.assumeRoot();
    assumeTrue(
        Files.isDirectory(RunningServer.templateStore()),
        "SKIPPED: no template store at " + RunningServer.templateStore());
    directory = Files.createTempDirectory("hopx-entry");
    try (ServerSocket socket = new ServerSocket(0)) {
      int port = socket.getLocalPort();
      environment = new TreeMap<>();
      environment.put("HOPX_DATA_DIR", directory.resolve("data").toString());
      environment.put("HOPX_RUN_DIR", "/run/hopxte" + port);
      environment.put("HOPX_PORT", Integer.toString(port));
      environment.put("HOPX_AGENT_PORTS", "11000-11400");
      environment.put("HOPX_INSTANCE", "hopxte" + port % 100);
      environment.put("HOPX_SANDBOX_SUBNET", "10.98.0.0/16");
      environment.put("HOPX_TEMPLATE_STORE", RunningServer.templateStore().toString());
    }
  }

  @AfterEach
  void leaveNothing() {
    if (environment != null) {
      hopx("down", "--all");
      Run.of(
          Path.of("/"),
          Map.of(),
          LIMIT,
          List.of(
              "rm",
              "-rf",
              "--one-file-system",
              directory.toString(),
              environment.get("HOPX_RUN_DIR")));
    }
  }

  @Test
  void upEnvStatusKillUpDown() throws Exception {
    Run up = hopx("up", "-d");
    assertThat(up.exitCode()).as(up.output()).isZero();
    Path keyFile = directory.resolve("data/admin.key");
    String key = Files.readString(keyFile).strip();
    assertThat(key).matches("hopx_live_[A-Za-z0-9]{12}\\.[A-Za-z0-9_-]{43}");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(keyFile)))
        .isEqualTo("rw-------");
    assertThat(up.output())
        .contains(key, "http://127.0.0.1:" + environment.get("HOPX_PORT"), "curl");

    Run line =
        shell(
            "eval \"$(./hopx env)\" && curl -fsS -X POST \"$HOPX_BASE_URL/v1/sandboxes\""
                + " -H \"X-API-Key: $HOPX_API_KEY\" -d '{\"template_name\":\"base\"}'");
    assertThat(line.exitCode()).as(line.output()).isZero();
    JsonNode sandbox = RunningServer.json().readTree(line.output());

    JsonNode status = status();
    assertThat(status.path("url").asString("")).endsWith(environment.get("HOPX_PORT"));
    assertThat(status.path("version").asString("")).isNotEmpty();
    long pid = status.path("pid").asLong(0);
    assertThat(ProcessHandle.of(pid)).isPresent();
    assertThat(ProcessHandle.of(pid).orElseThrow().info().toString()).doesNotContain(key);

    ProcessHandle.of(pid).orElseThrow().destroyForcibly();
    ProcessHandle.of(pid).ifPresent(handle -> handle.onExit().join());
    Instant start = Instant.now();
    Run second = hopx("up", "-d");
    Duration took = Duration.between(start, Instant.now());
    assertThat(second.exitCode()).as(second.output()).isZero();
    System.out.println("second ./hopx up -d: " + took.toMillis() + " ms");

    Run get =
        shell(
            "eval \"$(./hopx env)\" && curl -fsS -H \"X-API-Key: $HOPX_API_KEY\""
                + " \"$HOPX_BASE_URL/v1/sandboxes/"
                + sandbox.get("id").asString()
                + "\"");
    assertThat(get.exitCode()).as(get.output()).isZero();
    assertThat(RunningServer.json().readTree(get.output()).get("public_host").asString())
        .isEqualTo(sandbox.get("public_host").asString());

    assertThat(hopx("up", "-d").exitCode()).as("up while up").isZero();
    Run down = hopx("down", "--all");
    assertThat(down.exitCode()).as(down.output()).isZero();
    assertThat(hopx("status", "--json").output()).doesNotContain("\"pid\": " + pid);
    assertThat(
            Files.exists(
                Path.of(
                    "/sys/fs/cgroup/pids",
                    environment.get("HOPX_INSTANCE"),
                    sandbox.get("id").asString())))
        .isFalse();
  }

  @Test
  void unknownWordsAreRefusedWithHelp() {
    Run run = hopx("fly");
    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.output()).contains("fly");
  }

  @Test
  void doctorNamesEachRequirement() {
    Run run = hopx("doctor");
    assertThat(run.output()).contains("crun", "nft", "cgroup", "JDK");
  }

  private JsonNode status() {
    Run run = hopx("status", "--json");
    assertThat(run.exitCode()).as(run.output()).isZero();
    return RunningServer.json().readTree(run.output());
  }

  private Run hopx(String... words) {
    List<String> command = new java.util.ArrayList<>();
    command.add(Repository.root().resolve("hopx").toString());
    command.addAll(List.of(words));
    return Run.of(Repository.root(), environment, LIMIT, command);
  }

  private Run shell(String line) {
    return Run.of(Repository.root(), environment, LIMIT, List.of("bash", "-euc", line));
  }
}
