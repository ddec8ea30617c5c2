package dev.hopx.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class SupervisedProcessTest {
  @BeforeEach
  void needsRoot() {
    assumeTrue(
        "root".equals(System.getProperty("user.name")), "SKIPPED: needs root for namespaces");
  }

  @Test
  void givesOutputAndStatus() {
    List<String> lines = new ArrayList<>();
    int status =
        SupervisedProcess.run(
            List.of("sh", "-c", "echo out; echo err >&2; exit 7"), false, lines::add);
    assertThat(status).isEqualTo(7);
    assertThat(lines).containsExactlyInAnyOrder("out", "err");
  }

  @Test
  void aMissingCommandIs127() {
    assertThat(SupervisedProcess.run(List.of("hopx-nosuch"), false, _ -> {})).isEqualTo(127);
  }

  @Test
  void getsNeitherOurEnvironmentNorANetwork() {
    List<String> lines = new ArrayList<>();
    SupervisedProcess.run(
        List.of("sh", "-c", "env; sed 1,2d /proc/net/dev; readlink /proc/self/fd/0"),
        false,
        lines::add);
    assertThat(lines)
        .contains("LC_ALL=C.UTF-8", "/dev/null")
        .noneMatch(line -> line.startsWith("HOME=") || line.startsWith("JAVA_HOME="))
        .filteredOn(line -> line.contains(":") && line.matches("^ *\\w+: .*"))
        .allMatch(line -> line.strip().startsWith("lo:"));
  }

  @Test
  void interruptionKillsWholeTreesThatHaveLeftTheirSession() throws Exception {
    // The argument is how the processes are found again; shells rewrite names, not arguments.
    String mark = "hopx-" + UUID.randomUUID();
    CountDownLatch started = new CountDownLatch(1);
    List<TemplateException> thrown = new ArrayList<>();
    Thread thread =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    SupervisedProcess.run(
                        List.of(
                            "sh",
                            "-c",
                            "setsid sh -c 'while :; do sleep 1; done' \"$1\" >/dev/null 2>&1 & "
                                + "echo started; while :; do sleep 1; done",
                            mark,
                            mark),
                        false,
                        _ -> started.countDown());
                  } catch (TemplateException e) {
                    thrown.add(e);
                  }
                });
    assertThat(started.await(20, TimeUnit.SECONDS)).isTrue();
    assertThat(alive(mark)).isPositive();
    thread.interrupt();
    thread.join();
    assertThat(thrown).singleElement().extracting(Throwable::getMessage).asString().contains("sh");
    for (int wait = 0; wait < 100 && alive(mark) > 0; wait++) {
      TimeUnit.MILLISECONDS.sleep(50);
    }
    assertThat(alive(mark)).isZero();
  }

  @Test
  void anErrorOfTheReaderEndsTheCommand() {
    assertThatThrownBy(
            () ->
                SupervisedProcess.run(
                    List.of("sh", "-c", "while :; do echo line; sleep 0.1; done"),
                    false,
                    _ -> {
                      throw new IllegalStateException("reader failed");
                    }))
        .isInstanceOf(IllegalStateException.class);
  }

  private static long alive(String mark) {
    return ProcessHandle.allProcesses()
        .filter(process -> process.info().commandLine().orElse("").contains(mark))
        .count();
  }
}
