package dev.hopx.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import dev.hopx.node.AdmissionLimits;
import dev.hopx.node.DiskQuota;
import dev.hopx.server.Configuration.LogFormat;
import dev.hopx.server.Configuration.PortRange;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ConfigurationLoaderTest {
  @TempDir Path directory = Path.of("");

  private final Map<ConfigurationKey, String> flags = new HashMap<>();
  private final Map<String, String> environment = new HashMap<>();

  @BeforeEach
  void own() {
    environment.put("HOPX_DATA_DIR", directory.toString());
  }

  @Test
  void defaultsAreTheDocumentedOnes() {
    environment.clear();
    Configuration configuration = load();
    assertThat(configuration)
        .isEqualTo(
            new Configuration(
                Path.of("/var/lib/hopx"),
                Path.of("/run/hopx"),
                Path.of("/var/lib/hopx/templates"),
                "127.0.0.1",
                8080,
                new PortRange(20000, 29999),
                "hopx",
                "10.213.0.0/16",
                1_000_013_824,
                true,
                DiskQuota.LOOP,
                AdmissionLimits.DEFAULT,
                "local",
                Duration.ofHours(24),
                64L << 20,
                LogFormat.TEXT,
                Level.INFO));
  }

  @Test
  void limitsOfTheHostAreRead() throws IOException {
    file("disk-quota=none\nmax-sandboxes=7\nmax-memory=8\nmin-free-memory=0\nmin-free-disk=9\n");
    Configuration configuration = load();
    assertThat(configuration.diskQuota()).isEqualTo(DiskQuota.NONE);
    assertThat(configuration.admission()).isEqualTo(new AdmissionLimits(7, 8, 0, 9));
    file("disk-quota=maybe\n");
    assertInvalid("disk-quota", "must be loop or none");
    file("max-sandboxes=0\n");
    assertInvalid("max-sandboxes", "1 to 1000000");
    file("min-free-disk=-1\n");
    assertInvalid("min-free-disk");
  }

  @Test
  void flagsWinOverTheEnvironmentOverTheFileOverDefaults() throws IOException {
    file("port = 1001\nregion = file\nlog-level=debug\n");
    environment.put("HOPX_PORT", "1002");
    environment.put("HOPX_REGION", "env");
    flags.put(ConfigurationKey.PORT, "1003");
    Configuration configuration = load();
    assertThat(configuration.port()).isEqualTo(1003);
    assertThat(configuration.region()).isEqualTo("env");
    assertThat(configuration.logLevel()).isEqualTo(Level.DEBUG);
    assertThat(configuration.instance()).isEqualTo("hopx");
    assertThat(configuration.templateStore()).isEqualTo(directory.resolve("templates"));
  }

  @Test
  void unknownKeyInTheFileIsRefusedWithTheNearest() throws IOException {
    file("agent-port = 1-2\n");
    assertInvalid("hopx.conf", "unknown key agent-port", "did you mean agent-ports?");
    file("colour = red\n");
    assertInvalid("unknown key colour", "known are: data-dir, run-dir");
  }

  @Test
  void dataDirectoryCannotBeSetInItsOwnFile() throws IOException {
    file("data-dir = /x\n");
    assertInvalid("data-dir cannot be set in the file");
  }

  @Test
  void fileThatIsNotUtf8IsRefused() throws IOException {
    Files.write(directory.resolve("hopx.conf"), new byte[] {'a', '=', (byte) 0xff});
    assertInvalid("hopx.conf is not UTF-8");
  }

  @Test
  void unknownVariableIsOnlyWarnedOf() {
    environment.put("HOPX_PROT", "1");
    environment.put("HOPX_API_KEY", "secret");
    environment.put("HOPX_TEST_ROOTFS", "/x");
    ConfigurationLoader loader = new ConfigurationLoader(flags, environment);
    loader.load();
    assertThat(loader.warnings())
        .containsExactly(
            "The environment variable HOPX_PROT is no setting; did you mean HOPX_PORT?");
  }

  @Test
  void messagesNameTheKeyAndItsSource() throws IOException {
    file("port = 80x\n");
    assertInvalid("port (from " + directory.resolve("hopx.conf") + "): \"80x\"", "1 to 65535");
    environment.put("HOPX_PORT", "0");
    assertInvalid("port (from environment variable HOPX_PORT): \"0\"");
    flags.put(ConfigurationKey.PORT, "65536");
    assertInvalid("port (from flag --port): \"65536\"");
  }

  @Test
  void portMustNotBeAmongTheAgents() {
    environment.put("HOPX_PORT", "20000");
    assertInvalid("agent-ports (from the default)", "20000");
  }

  @ParameterizedTest
  @CsvSource({
    "PORT, 1",
    "PORT, 65535",
    "AGENT_PORTS, 1-65535",
    "AGENT_PORTS, 5-5",
    "INSTANCE, a2345678",
    "SANDBOX_SUBNET, 10.0.0.0/8",
    "SANDBOX_SUBNET, 10.1.2.4/30",
    "UID_BASE, 65536",
    "TRUST_HOST_CERTIFICATES, false",
    "REGION, us-east-1",
    "TOKEN_LIFETIME, 60s",
    "TOKEN_LIFETIME, 3650d",
    "MAX_JSON_BODY, 1",
    "MAX_JSON_BODY, 2147483647",
    "MAX_JSON_BODY, 1G",
    "MAX_JSON_BODY, 16MiB",
    "LOG_FORMAT, json",
    "LOG_LEVEL, TRACE",
    "HOST, ::1",
    "HOST, example.org",
    "RUN_DIR, relative",
  })
  void acceptsValuesAtTheEdge(ConfigurationKey key, String value) {
    if (key == ConfigurationKey.AGENT_PORTS) {
      environment.put("HOPX_PORT", value.equals("5-5") ? "6" : "8080");
    }
    flags.put(key, value);
    if (key == ConfigurationKey.AGENT_PORTS && value.equals("1-65535")) {
      assertInvalid("agent-ports", "8080");
    } else {
      load();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "PORT, ''",
    "PORT, 1.5",
    "PORT, 99999999999999999999",
    "AGENT_PORTS, 5",
    "AGENT_PORTS, 9-5",
    "AGENT_PORTS, 0-5",
    "AGENT_PORTS, 1-65536",
    "INSTANCE, ''",
    "INSTANCE, Abc",
    "INSTANCE, 1abc",
    "INSTANCE, a23456789",
    "SANDBOX_SUBNET, 10.0.0.0/7",
    "SANDBOX_SUBNET, 10.0.0.0/31",
    "SANDBOX_SUBNET, 10.0.0.1/16",
    "SANDBOX_SUBNET, 10.0.0.256/30",
    "SANDBOX_SUBNET, fd00::/16",
    "UID_BASE, 0",
    "UID_BASE, 65537",
    "UID_BASE, 2147483648",
    "TRUST_HOST_CERTIFICATES, yes",
    "REGION, -x",
    "TOKEN_LIFETIME, 59s",
    "TOKEN_LIFETIME, 3651d",
    "TOKEN_LIFETIME, 24",
    "MAX_JSON_BODY, 0",
    "MAX_JSON_BODY, 2147483648",
    "MAX_JSON_BODY, 2G",
    "MAX_JSON_BODY, 9999999999",
    "LOG_FORMAT, xml",
    "LOG_LEVEL, loud",
    "LOG_LEVEL, off",
    "HOST, a b",
    "HOST, ''",
    "DATA_DIR, ''",
    "RUN_DIR, ' '",
  })
  void refusesOtherValuesNamingTheKey(ConfigurationKey key, String value) {
    flags.put(key, value);
    assertInvalid(key.key() + " (from flag " + key.flag() + "): \"" + value + "\"");
  }

  private Configuration load() {
    return new ConfigurationLoader(flags, environment).load();
  }

  private void assertInvalid(String... parts) {
    assertThatThrownBy(this::load)
        .isInstanceOf(ConfigurationException.class)
        .message()
        .contains(parts);
  }

  private void file(String text) throws IOException {
    Files.writeString(directory.resolve("hopx.conf"), text);
  }
}
