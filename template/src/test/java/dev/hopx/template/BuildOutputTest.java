package dev.hopx.template;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hopx.template.BuildOutput.Step;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** On the recorded output of a real build (shortened by lines the parser does not read). */
final class BuildOutputTest {
  private long now;

  @Test
  void aRealBuildPassesEveryStepAndNeverTurnsBack() throws IOException {
    BuildOutput output = new BuildOutput("base", () -> now);
    Set<String> steps = new LinkedHashSet<>();
    List<Integer> percents = new ArrayList<>();
    for (String line : recorded()) {
      now += TimeUnit.MILLISECONDS.toNanos(20);
      if (output.accept(line)) {
        steps.add(output.progress().step());
        percents.add(output.progress().percent());
      }
    }
    assertThat(steps)
        .containsExactly(
            "fetching package lists",
            "downloading essential packages",
            "extracting essential packages",
            "installing essential packages",
            "downloading packages",
            "installing packages");
    assertThat(percents).isSorted();
    // 39 of 39 packages unpacked and set up.
    assertThat(percents.getLast()).isEqualTo(82);
    // Steps are passed through, not jumped over.
    assertThat(percents).contains(3, 9, 27, 50, 70);
  }

  @Test
  void downloadsHaveARateInMegabytes() {
    BuildOutput output = new BuildOutput("base", () -> now);
    output.accept("I: installing remaining packages inside the chroot...");
    output.accept("Need to get 100 MB of archives.");
    output.accept("Get:1 http://mirror.example/debian trixie/main amd64 a amd64 1-1 [25.0 MB]");
    now = TimeUnit.SECONDS.toNanos(2);
    assertThat(output.progress().rate()).isEqualTo("12.5 MB/s");
    // A quarter of the way from 12 to 35 per cent.
    assertThat(output.progress().percent()).isEqualTo(17);
  }

  @Test
  void packagesThatAreInTheCacheAreNotWaitedFor() {
    BuildOutput output = new BuildOutput("base", () -> now);
    output.accept("I: installing remaining packages inside the chroot...");
    output.accept("0 upgraded, 2 newly installed, 0 to remove and 0 not upgraded.");
    output.accept("Need to get 0 B/337 MB of archives.");
    assertThat(output.progress().percent()).isEqualTo(12);
    output.accept("Unpacking a (1-1) ...");
    now = TimeUnit.SECONDS.toNanos(1);
    assertThat(output.progress())
        .isEqualTo(new BuildProgress("base", "installing packages", 46, "0.5 packages/s"));
  }

  @Test
  void stepsOfOurOwnFollow() {
    BuildOutput output = new BuildOutput("base", () -> now);
    output.customizing(2);
    assertThat(output.progress().percent()).isEqualTo(82);
    output.customized();
    assertThat(output.progress().percent()).isEqualTo(88);
    output.enter(Step.VERIFY);
    assertThat(output.progress().step()).isEqualTo("verifying");
    output.accept("I: running apt-get update...");
    assertThat(output.progress().step()).isEqualTo("verifying");
  }

  static List<String> recorded() throws IOException {
    try (InputStream input =
        Objects.requireNonNull(BuildOutputTest.class.getResourceAsStream("base-build.log"))) {
      return new String(input.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
    }
  }
}
