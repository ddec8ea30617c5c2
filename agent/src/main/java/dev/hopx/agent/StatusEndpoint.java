package dev.hopx.agent;

import dev.hopx.http.HttpExchange;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** {@code /}, {@code /ping}, {@code /health} and {@code /info} (contract §4.1). */
final class StatusEndpoint {
  static final String AGENT = "hopx-agent";

  /** The published agent API that this one follows. */
  static final String VERSION = "3.2.8";

  private static final String OS = "linux";
  private static final String RUNTIME = "java " + Runtime.version().feature();

  /** What the documents call the endpoints, for {@code /info}. */
  private static final Map<String, String> ENDPOINTS =
      Map.ofEntries(
          Map.entry("health", "/health"),
          Map.entry("info", "/info"),
          Map.entry("ping", "/ping"),
          Map.entry("system", "/system"),
          Map.entry("execute", "/execute"),
          Map.entry("execute_rich", "/execute/rich"),
          Map.entry("commands_run", "/commands/run"),
          Map.entry("files_read", "/files/read"),
          Map.entry("files_write", "/files/write"),
          Map.entry("files_list", "/files/list"),
          Map.entry("files_exists", "/files/exists"),
          Map.entry("files_remove", "/files/remove"),
          Map.entry("files_mkdir", "/files/mkdir"),
          Map.entry("files_upload", "/files/upload"),
          Map.entry("files_download", "/files/download"),
          Map.entry("env", "/env"));

  void root(HttpExchange exchange, AgentSession session) {
    Map<String, Object> reply = new LinkedHashMap<>();
    reply.put("agent", AGENT);
    reply.put("status", "running");
    reply.put("version", VERSION);
    reply.put("vm_id", session.sandbox().id());
    reply.put("endpoints", ENDPOINTS);
    reply.put("timestamp", Instant.now());
    exchange.sendJson(200, reply);
  }

  void ping(HttpExchange exchange, AgentSession session) {
    Map<String, Object> reply = new LinkedHashMap<>();
    reply.put("status", "ok");
    reply.put("message", "pong");
    reply.put("timestamp", Instant.now());
    exchange.sendJson(200, reply);
  }

  void health(HttpExchange exchange, AgentSession session) {
    Duration uptime = uptime(session);
    Map<String, Object> reply = new LinkedHashMap<>();
    reply.put("status", "healthy");
    reply.put("agent", AGENT);
    reply.put("version", VERSION);
    reply.put("agent_version", VERSION);
    reply.put("vm_id", session.sandbox().id());
    reply.put("uptime", text(uptime));
    reply.put("uptime_seconds", uptime.toMillis() / 1000.0);
    reply.put("go_version", RUNTIME);
    reply.put("active_streams", 0);
    reply.put("features", features());
    reply.put("timestamp", Instant.now());
    exchange.sendJson(200, reply);
  }

  void info(HttpExchange exchange, AgentSession session) {
    AgentSandbox sandbox = session.sandbox();
    String host = exchange.header("Host").orElse("");
    int colon = host.lastIndexOf(':');
    String address = colon < 0 ? host : host.substring(0, colon);
    String port = colon < 0 ? "" : host.substring(colon + 1);
    Map<String, Object> reply = new LinkedHashMap<>();
    reply.put("agent", AGENT);
    reply.put("agent_version", VERSION);
    reply.put("version", VERSION);
    reply.put("status", "running");
    reply.put("vm_id", sandbox.id());
    reply.put("template", sandbox.templateName());
    reply.put("region", sandbox.region());
    reply.put("isolation", sandbox.isolation());
    reply.put(
        "resources",
        Map.of(
            "vcpu", sandbox.resources().vcpus(),
            "memory_mb", sandbox.resources().memoryMib(),
            "disk_mb", sandbox.resources().diskMib()));
    reply.put("os", OS);
    reply.put("arch", architecture());
    reply.put("platform", OS + "/" + architecture());
    reply.put("go_version", RUNTIME);
    reply.put("vm_ip", address);
    reply.put("ip", address);
    reply.put("vm_port", port);
    reply.put("port", port);
    reply.put("start_time", sandbox.createdAt());
    reply.put("uptime", text(uptime(session)));
    reply.put("uptime_seconds", uptime(session).toMillis() / 1000.0);
    reply.put("endpoints", ENDPOINTS);
    reply.put("features", features());
    reply.put("timestamp", Instant.now());
    exchange.sendJson(200, reply);
  }

  /** The names of Go's platforms, which the published agent gives. */
  static String architecture() {
    String name = System.getProperty("os.arch", "");
    return name.equals("aarch64") ? "arm64" : name;
  }

  private static Map<String, Object> features() {
    Map<String, Object> features = new LinkedHashMap<>();
    features.put("code_execution", true);
    features.put("file_operations", true);
    features.put("environment_variables", true);
    features.put("terminal_access", false);
    features.put("websocket_streaming", false);
    features.put("rich_output", false);
    features.put("background_jobs", false);
    features.put("ipython_kernel", false);
    features.put("system_metrics", false);
    features.put("desktop", false);
    features.put("languages", List.copyOf(Language.canonicalNames()));
    return features;
  }

  private static Duration uptime(AgentSession session) {
    Duration uptime = Duration.between(session.sandbox().createdAt(), Instant.now());
    return uptime.isNegative() ? Duration.ZERO : uptime;
  }

  /** {@code 1h2m3s}. */
  static String text(Duration duration) {
    StringBuilder text = new StringBuilder();
    if (duration.toHours() > 0) {
      text.append(duration.toHours()).append('h');
    }
    if (duration.toMinutes() > 0) {
      text.append(duration.toMinutesPart()).append('m');
    }
    return text.append(duration.toSecondsPart()).append('s').toString();
  }
}
