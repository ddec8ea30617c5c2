package dev.hopx.server;

import dev.hopx.node.AdmissionLimits;
import dev.hopx.node.DiskQuota;
import dev.hopx.server.Configuration.LogFormat;
import java.io.IOException;
import java.io.Reader;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;

/** Finds the settings: defaults, then the file, then the environment, then flags. */
final class ConfigurationLoader {
  static final String FILE_NAME = "hopx.conf";

  private static final int MAX_SANDBOXES = 1_000_000;

  /** A pebibyte. */
  private static final long MAX_MIB = 1L << 30;

  private final Map<ConfigurationKey, String> flags;
  private final Map<String, String> environment;
  private final List<String> warnings = new ArrayList<>();

  ConfigurationLoader(Map<ConfigurationKey, String> flags, Map<String, String> environment) {
    this.flags = Map.copyOf(flags);
    this.environment = Map.copyOf(environment);
  }

  /**
   * Reads and checks everything.
   *
   * @throws ConfigurationException for the first setting that is not usable
   */
  Configuration load() {
    Map<ConfigurationKey, Setting> settings = new EnumMap<>(ConfigurationKey.class);
    for (ConfigurationKey key : ConfigurationKey.values()) {
      settings.put(key, new Setting(key, key.defaultValue(), "the default"));
    }
    settings.putAll(fromEnvironment());
    settings.putAll(fromFlags());
    Path dataDir = SettingParser.directory(get(settings, ConfigurationKey.DATA_DIR));

    Path file = dataDir.resolve(FILE_NAME);
    Map<ConfigurationKey, Setting> inFile = fromFile(file);
    inFile.forEach(
        (key, setting) -> {
          if (!environment.containsKey(key.variable()) && !flags.containsKey(key)) {
            settings.put(key, setting);
          }
        });
    return check(dataDir, settings);
  }

  /** What is odd but does not keep the server from starting; complete after {@link #load}. */
  List<String> warnings() {
    return List.copyOf(warnings);
  }

  private static Configuration check(Path dataDir, Map<ConfigurationKey, Setting> settings) {
    Setting templateStore = get(settings, ConfigurationKey.TEMPLATE_STORE);
    Configuration configuration =
        new Configuration(
            dataDir,
            SettingParser.directory(get(settings, ConfigurationKey.RUN_DIR)),
            templateStore.value().isEmpty()
                ? dataDir.resolve("templates")
                : SettingParser.directory(templateStore),
            SettingParser.host(get(settings, ConfigurationKey.HOST)),
            SettingParser.port(get(settings, ConfigurationKey.PORT)),
            SettingParser.portRange(get(settings, ConfigurationKey.AGENT_PORTS)),
            SettingParser.instance(get(settings, ConfigurationKey.INSTANCE)),
            SettingParser.subnet(get(settings, ConfigurationKey.SANDBOX_SUBNET)),
            SettingParser.uidBase(get(settings, ConfigurationKey.UID_BASE)),
            SettingParser.bool(get(settings, ConfigurationKey.TRUST_HOST_CERTIFICATES)),
            SettingParser.choice(get(settings, ConfigurationKey.DISK_QUOTA), DiskQuota.values()),
            new AdmissionLimits(
                (int)
                    SettingParser.number(
                        get(settings, ConfigurationKey.MAX_SANDBOXES), 1, MAX_SANDBOXES),
                mebibytes(settings, ConfigurationKey.MAX_MEMORY),
                mebibytes(settings, ConfigurationKey.MIN_FREE_MEMORY),
                mebibytes(settings, ConfigurationKey.MIN_FREE_DISK)),
            SettingParser.region(get(settings, ConfigurationKey.REGION)),
            SettingParser.duration(get(settings, ConfigurationKey.TOKEN_LIFETIME)),
            SettingParser.bodySize(get(settings, ConfigurationKey.MAX_JSON_BODY)),
            SettingParser.choice(get(settings, ConfigurationKey.LOG_FORMAT), LogFormat.values()),
            SettingParser.level(get(settings, ConfigurationKey.LOG_LEVEL)));
    if (configuration.agentPorts().contains(configuration.port())) {
      throw get(settings, ConfigurationKey.AGENT_PORTS)
          .invalid("must not contain the API's own port " + configuration.port());
    }
    return configuration;
  }

  private static long mebibytes(Map<ConfigurationKey, Setting> settings, ConfigurationKey key) {
    return SettingParser.number(get(settings, key), 0, MAX_MIB);
  }

  private static Setting get(Map<ConfigurationKey, Setting> settings, ConfigurationKey key) {
    Setting setting = settings.get(key);
    if (setting == null) {
      throw new IllegalStateException("No default for " + key);
    }
    return setting;
  }

  private Map<ConfigurationKey, Setting> fromEnvironment() {
    Map<ConfigurationKey, Setting> found = new EnumMap<>(ConfigurationKey.class);
    for (ConfigurationKey key : ConfigurationKey.values()) {
      String value = environment.get(key.variable());
      if (value != null) {
        found.put(key, new Setting(key, value, "environment variable " + key.variable()));
      }
    }
    for (String variable : new TreeMap<>(environment).keySet()) {
      boolean known =
          Arrays.stream(ConfigurationKey.values()).anyMatch(key -> key.variable().equals(variable));
      if (variable.startsWith("HOPX_") && !known && !ConfigurationKey.isForeign(variable)) {
        warnings.add(
            "The environment variable %s is no setting%s"
                .formatted(
                    variable,
                    didYouMean(
                        variable,
                        Arrays.stream(ConfigurationKey.values())
                            .map(ConfigurationKey::variable)
                            .toList())));
      }
    }
    return found;
  }

  private Map<ConfigurationKey, Setting> fromFlags() {
    Map<ConfigurationKey, Setting> found = new EnumMap<>(ConfigurationKey.class);
    flags.forEach((key, value) -> found.put(key, new Setting(key, value, "flag " + key.flag())));
    return found;
  }

  private static Map<ConfigurationKey, Setting> fromFile(Path file) {
    Properties properties = new Properties();
    try (Reader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
      properties.load(reader);
    } catch (NoSuchFileException absent) {
      return Map.of();
    } catch (CharacterCodingException invalid) {
      throw new ConfigurationException(file + " is not UTF-8");
    } catch (IOException | IllegalArgumentException unreadable) {
      throw new ConfigurationException("Cannot read " + file + ": " + unreadable.getMessage());
    }
    Map<ConfigurationKey, Setting> found = new EnumMap<>(ConfigurationKey.class);
    for (String name : properties.stringPropertyNames()) {
      Optional<ConfigurationKey> key = ConfigurationKey.ofKey(name);
      if (key.isEmpty()) {
        throw new ConfigurationException(
            "%s: unknown key %s%s"
                .formatted(
                    file,
                    name,
                    didYouMean(
                        name,
                        Arrays.stream(ConfigurationKey.values())
                            .map(ConfigurationKey::key)
                            .toList())));
      }
      if (key.get() == ConfigurationKey.DATA_DIR) {
        throw new ConfigurationException(
            file + ": data-dir cannot be set in the file that is found through it");
      }
      String value = properties.getProperty(name).strip();
      found.put(key.get(), new Setting(key.get(), value, file.toString()));
    }
    return found;
  }

  private static String didYouMean(String word, List<String> known) {
    return Nearest.to(word, known)
        .map(nearest -> "; did you mean " + nearest + "?")
        .orElse("; known are: " + String.join(", ", known));
  }
}
