package dev.hopx.template;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class TemplatePreparationTest {
  private static final Recipe RECIPE =
      TestRecipes.small("base", List.of("bash"), "true\n", "true\n");

  @TempDir Path directory;
  private final FakeBuilder builder = new FakeBuilder();
  private final ByteArrayOutputStream output = new ByteArrayOutputStream();
  private final ByteArrayOutputStream errors = new ByteArrayOutputStream();
  private long now;

  @Test
  void plainLinesTellStepPercentAndRate() {
    assertThat(prepare(false)).isZero();
    assertThat(text(output).lines())
        .containsExactly(
            " 50 % base: installing packages, 7.0 packages/s, 0:07",
            "100 % base: ready, 0:14", "template base is ready, built in 0:21");
  }

  @Test
  void aTerminalGetsABar() {
    assertThat(prepare(true)).isZero();
    assertThat(text(output))
        .contains("\r" + "█".repeat(15) + "░".repeat(15) + "  50 % base: installing packages, 7.0")
        .endsWith("\r\033[Ktemplate base is ready, built in 0:21\n");
  }

  @Test
  void whatIsReadyIsNotBuiltAgain() {
    prepare(false);
    output.reset();
    assertThat(prepare(false)).isZero();
    assertThat(text(output)).isEqualTo("template base is ready\n");
    assertThat(builder.builds).hasValue(1);
  }

  @Test
  void aFailureIsPrintedAndIsTheStatus() {
    builder.failWith("the disk is full");
    assertThat(prepare(false)).isEqualTo(1);
    assertThat(text(errors)).contains("the disk is full");
  }

  // Every look at the clock finds it seven seconds later.
  private int prepare(boolean terminal) {
    now = 0;
    TemplateStore store = new TemplateStore(directory, List.of(RECIPE), "amd64", builder);
    return new TemplatePreparation(
            store,
            new PrintStream(output, true, StandardCharsets.UTF_8),
            new PrintStream(errors, true, StandardCharsets.UTF_8),
            terminal,
            () -> {
              long time = now;
              now += TimeUnit.SECONDS.toNanos(7);
              return time;
            })
        .prepare(List.of());
  }

  private static String text(ByteArrayOutputStream stream) {
    return stream.toString(StandardCharsets.UTF_8);
  }
}
