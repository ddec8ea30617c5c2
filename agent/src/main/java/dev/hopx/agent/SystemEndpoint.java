package dev.hopx.agent;

import dev.hopx.channel.GuestException;
import dev.hopx.channel.GuestFiles;
import dev.hopx.channel.GuestFiles.GuestFileContent;
import dev.hopx.http.HttpExchange;
import dev.hopx.http.RouteHandler;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * {@code GET /system}: static facts (OBS-05), read inside the sandbox. It is open to everyone who
 * reaches the agent, so no variable that the template or the user set is shown, and of the files
 * only known lines.
 */
final class SystemEndpoint implements RouteHandler<AgentSession> {
  /** Bytes read of a file that the sandbox's user may have made as large as they like. */
  private static final int MAX_FILE = 64 << 10;

  private static final Pattern OS_FIELD = Pattern.compile("(?m)^(NAME|VERSION)=\"?([^\"\\n]*)\"?$");
  private static final Pattern CPU_MODEL = Pattern.compile("(?m)^model name\\s*: (.*)$");
  private static final Pattern LOCAL_ADDRESS =
      Pattern.compile("\\|-- (\\d+\\.\\d+\\.\\d+\\.\\d+)\\n\\s+/32 host LOCAL");

  @Override
  public void handle(HttpExchange exchange, AgentSession session) {
    GuestFiles files = session.allFiles();
    AgentSandbox sandbox = session.sandbox();
    String hostName = read(files, "/proc/sys/kernel/hostname").strip();
    Map<String, Object> reply = new LinkedHashMap<>();
    reply.put("os", operatingSystem(files, hostName));
    Map<String, Object> hardware = new LinkedHashMap<>();
    hardware.put("cpu_cores", sandbox.resources().vcpus());
    hardware.put("cpu_model", first(CPU_MODEL, read(files, "/proc/cpuinfo")));
    hardware.put("memory_mb", sandbox.resources().memoryMib());
    hardware.put("disk_mb", sandbox.resources().diskMib());
    reply.put("hardware", hardware);
    Map<String, Object> network = new LinkedHashMap<>();
    network.put("interfaces", interfaces(files));
    network.put("hostname", hostName);
    reply.put("network", network);
    reply.put("environment", environment(session));
    reply.put("capabilities", Language.canonicalNames());
    reply.put("timestamp", Instant.now());
    exchange.sendJson(200, reply);
  }

  private static Map<String, Object> operatingSystem(GuestFiles files, String hostName) {
    Map<String, String> release = new LinkedHashMap<>();
    Matcher matcher = OS_FIELD.matcher(read(files, "/etc/os-release"));
    while (matcher.find()) {
      release.put(matcher.group(1), matcher.group(2));
    }
    String timeZone = read(files, "/etc/timezone").strip();
    Map<String, Object> system = new LinkedHashMap<>();
    system.put("name", release.getOrDefault("NAME", "Linux"));
    system.put("version", release.getOrDefault("VERSION", ""));
    system.put("kernel", read(files, "/proc/sys/kernel/osrelease").strip());
    system.put("arch", StatusEndpoint.architecture());
    system.put("hostname", hostName);
    system.put("timezone", timeZone.isEmpty() || timeZone.equals("Etc/UTC") ? "UTC" : timeZone);
    return system;
  }

  private static List<Map<String, Object>> interfaces(GuestFiles files) {
    Set<String> addresses = new LinkedHashSet<>();
    Matcher matcher = LOCAL_ADDRESS.matcher(read(files, "/proc/net/fib_trie"));
    while (matcher.find()) {
      addresses.add(matcher.group(1));
    }
    List<Map<String, Object>> interfaces = new ArrayList<>();
    for (String name : names(files, "/sys/class/net")) {
      boolean isLoopback = name.equals("lo");
      Map<String, Object> description = new LinkedHashMap<>();
      description.put("name", name);
      description.put(
          "ip",
          addresses.stream()
              .filter(address -> address.startsWith("127.") == isLoopback)
              .findFirst()
              .orElse(""));
      description.put("mac", read(files, "/sys/class/net/" + name + "/address").strip());
      interfaces.add(description);
    }
    return interfaces;
  }

  private static Map<String, Object> environment(AgentSession session) {
    Map<String, String> system = SandboxEnvironment.standard();
    Map<String, Object> environment = new LinkedHashMap<>();
    environment.put("shell", system.getOrDefault("SHELL", ""));
    environment.put("path", system.getOrDefault("PATH", ""));
    environment.put("user", system.getOrDefault("USER", ""));
    environment.put("home", session.environment().home());
    environment.put("working_dir", GuestPath.WORKSPACE);
    environment.put("environment", system);
    return environment;
  }

  private static List<String> names(GuestFiles files, String directory) {
    List<String> names = new ArrayList<>();
    try {
      var _ = files.list(directory, entry -> names.add(entry.path()));
    } catch (GuestException missing) {
      return List.of();
    }
    names.sort(null);
    return names;
  }

  /** The file's text, empty where it is not there: a foreign image may lack any of them. */
  private static String read(GuestFiles files, String path) {
    try (GuestFileContent file = files.read(path, 0, OptionalLong.of(MAX_FILE))) {
      return new String(file.content().readNBytes(MAX_FILE), StandardCharsets.UTF_8);
    } catch (GuestException | IOException missing) {
      return "";
    }
  }

  private static String first(Pattern pattern, String text) {
    Matcher matcher = pattern.matcher(text);
    return matcher.find() ? matcher.group(1).strip() : "";
  }
}
