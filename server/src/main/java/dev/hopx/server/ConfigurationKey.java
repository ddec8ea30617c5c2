package dev.hopx.server;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Everything an operator can set, under one name in kebab case: as a line of {@code hopx.conf} in
 * the data directory, as an environment variable ({@code agent-ports} is {@code HOPX_AGENT_PORTS}),
 * and as a flag ({@code --agent-ports}). The later of these wins.
 */
enum ConfigurationKey {
  DATA_DIR("/var/lib/hopx", "DIRECTORY", "what survives a reboot: store, keys, sandboxes' disks"),
  RUN_DIR("/run/hopx", "DIRECTORY", "what lives as long as the machine runs: sockets, namespaces"),
  TEMPLATE_STORE("", "DIRECTORY", "built templates; by default templates in the data directory"),
  HOST("127.0.0.1", "ADDRESS", "address the API listens on"),
  PORT("8080", "PORT", "port the API listens on"),
  AGENT_PORTS("20000-29999", "FIRST-LAST", "loopback ports for the agents of sandboxes"),
  INSTANCE("hopx", "NAME", "names control groups, firewall table and network links"),
  SANDBOX_SUBNET("10.213.0.0/16", "CIDR", "IPv4 network of the sandboxes"),
  UID_BASE("1000013824", "NUMBER", "first host uid of the sandboxes' ranges, a multiple of 65536"),
  TRUST_HOST_CERTIFICATES("true", "true|false", "sandboxes trust the authorities this host trusts"),
  DISK_QUOTA("loop", "loop|none", "sandboxes' disks: a file system each, or no quota at all"),
  MAX_SANDBOXES("1000", "NUMBER", "sandboxes at a time; beyond it creations answer 503"),
  MAX_MEMORY("0", "MIB", "sum of the sandboxes' memory limits; 0: not bounded"),
  MIN_FREE_MEMORY("1024", "MIB", "memory the host keeps available, or creations answer 503"),
  MIN_FREE_DISK("2048", "MIB", "free space the data directory keeps, or creations answer 503"),
  REGION("local", "NAME", "region this server reports"),
  TOKEN_LIFETIME("24h", "DURATION", "advertised validity of sandbox tokens, e.g. 90m, 24h, 7d"),
  MAX_JSON_BODY("67108864", "BYTES", "largest JSON body, e.g. 1048576, 16MiB"),
  LOG_FORMAT("text", "text|json", "form of the log on standard error"),
  LOG_LEVEL("info", "LEVEL", "error, warn, info, debug or trace; debug logs each request");

  /** {@code HOPX_…} variables that are not settings of the server. */
  private static final List<String> FOREIGN_VARIABLES = List.of("HOPX_BASE_URL", "HOPX_API_KEY");

  private static final String FOREIGN_PREFIX = "HOPX_TEST_";

  private final String defaultValue;
  private final String placeholder;
  private final String description;

  ConfigurationKey(String defaultValue, String placeholder, String description) {
    this.defaultValue = defaultValue;
    this.placeholder = placeholder;
    this.description = description;
  }

  String key() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  String flag() {
    return "--" + key();
  }

  String variable() {
    return "HOPX_" + name();
  }

  String defaultValue() {
    return defaultValue;
  }

  String placeholder() {
    return placeholder;
  }

  String description() {
    return description;
  }

  static Optional<ConfigurationKey> ofKey(String key) {
    return Arrays.stream(values()).filter(candidate -> candidate.key().equals(key)).findFirst();
  }

  static boolean isForeign(String variable) {
    return FOREIGN_VARIABLES.contains(variable) || variable.startsWith(FOREIGN_PREFIX);
  }
}
