package dev.hopx.guest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the libFuzzer target of {@code src/fuzz} for a bounded time, from its seeds. */
final class FuzzTest {
  private static final Duration TIME = Duration.ofSeconds(30);
  private static final List<String> COMPILER =
      List.of(
          "clang",
          "-std=c11",
          "-D_GNU_SOURCE",
          "-O1",
          "-g",
          "-fsanitize=fuzzer,address,undefined",
          "-fno-sanitize-recover=undefined");
  private static final List<String> REPLACED = List.of("fork", "kill", "connect", "wait4", "pipe2");
  private static final List<String> SOURCES = List.of("bytes.c", "link.c", "streams.c", "spawn.c");

  @Test
  void noInputBreaksTheParserAndDispatcher(@TempDir Path directory) throws Exception {
    assumeTrue(
        canCompile(directory),
        "SKIPPED: the guest's frame parser was NOT fuzzed, because clang with its sanitizers is"
            + " missing: apt-get install clang libclang-rt-dev");
    Path program = directory.resolve("fuzz-frames");
    List<String> command = new ArrayList<>(COMPILER);
    REPLACED.forEach(name -> command.add("-D" + name + "=fuzz_" + name));
    command.addAll(List.of("-o", program.toString(), "src/fuzz/frames.c"));
    SOURCES.forEach(name -> command.add("src/main/c/" + name));
    Result compiled = run(command, directory, Duration.ofMinutes(2));
    assertThat(compiled.status()).as(compiled.output()).isZero();

    Path corpus = Files.createDirectory(directory.resolve("corpus"));
    Result fuzzed =
        run(
            List.of(
                program.toString(),
                "-max_total_time=" + TIME.toSeconds(),
                "-timeout=20",
                "-rss_limit_mb=1024",
                "-print_final_stats=1",
                "-artifact_prefix=" + System.getProperty("hopx.buildDirectory") + "/",
                corpus.toString(),
                "src/fuzz/corpus"),
            directory,
            TIME.plusMinutes(2));
    assertThat(fuzzed.status()).as(fuzzed.output()).isZero();
    assertThat(fuzzed.output()).contains("stat::number_of_executed_units");
  }

  private static boolean canCompile(Path directory) throws Exception {
    Path source = directory.resolve("probe.c");
    Files.writeString(
        source,
        "#include <stddef.h>\n#include <stdint.h>\n"
            + "int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {\n"
            + "  return data == NULL && size > 0;\n}\n");
    List<String> command = new ArrayList<>(COMPILER);
    command.addAll(List.of("-o", directory.resolve("probe").toString(), source.toString()));
    try {
      return run(command, directory, Duration.ofMinutes(1)).status() == 0;
    } catch (IOException e) {
      return false;
    }
  }

  private static Result run(List<String> command, Path directory, Duration limit)
      throws IOException, InterruptedException {
    Path output = directory.resolve("output");
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      boolean ended = process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
      return new Result(ended ? process.exitValue() : -1, Files.readString(output));
    } finally {
      process.destroyForcibly();
    }
  }

  record Result(int status, String output) {}
}
