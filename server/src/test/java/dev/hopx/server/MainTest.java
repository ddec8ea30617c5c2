package dev.hopx.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class MainTest {
  @TempDir Path directory = Path.of("");

  private final ByteArrayOutputStream output = new ByteArrayOutputStream();
  private final ByteArrayOutputStream errors = new ByteArrayOutputStream();

  @Test
  void helpNamesEverySetting() {
    assertThat(run("serve", "--help")).isZero();
    for (ConfigurationKey key : ConfigurationKey.values()) {
      assertThat(text(output)).contains(key.flag());
    }
    assertThat(run("--version")).isZero();
    assertThat(text(output)).contains(Version.current());
    assertThat(Version.current()).matches("\\d+\\.\\d+\\.\\d+.*");
  }

  @Test
  void unknownFlagsAndCommandsAreRefused() {
    assertThat(run("serve", "--prot", "1")).isEqualTo(Main.USAGE);
    assertThat(text(errors)).contains("--prot", "--port");
    assertThat(run("fly")).isEqualTo(Main.USAGE);
    assertThat(run()).isEqualTo(Main.USAGE);
    assertThat(run("templates")).isEqualTo(Main.USAGE);
  }

  @Test
  void unusableSettingIsSaidInOneLine() {
    assertThat(run("serve", "--port", "x")).isEqualTo(Main.USAGE);
    assertThat(text(errors))
        .startsWith("hopx: port (from flag --port): \"x\"")
        .containsOnlyOnce("\n");
  }

  @Test
  void unknownTemplateIsSaid() {
    assertThat(run("templates", "prepare", "nothing")).isEqualTo(Main.FAILED);
    assertThat(text(errors)).contains("nothing", "code-interpreter");
  }

  private int run(String... arguments) {
    output.reset();
    errors.reset();
    return new Main(
            new PrintStream(output, true, StandardCharsets.UTF_8),
            new PrintStream(errors, true, StandardCharsets.UTF_8),
            Map.of("HOPX_DATA_DIR", directory.toString()))
        .run(arguments);
  }

  private static String text(ByteArrayOutputStream stream) {
    return stream.toString(StandardCharsets.UTF_8);
  }
}
