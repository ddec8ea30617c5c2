package dev.hopx.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** mmdebstrap, apt and the host's mirror. */
final class RealBuildTest {
  private static final List<String> MINIMAL = List.of("bash");
  private static final String VERIFY = "echo \"bash=$BASH_VERSION\"\n";

  private Path directory = Path.of("/nonexistent");

  @BeforeEach
  void needsRootToolsAndMirror() throws IOException {
    assumeTrue("root".equals(System.getProperty("user.name")), "SKIPPED: needs root");
    assumeTrue(
        SupervisedProcess.run(List.of("mmdebstrap", "--version"), false, _ -> {}) == 0,
        "SKIPPED: mmdebstrap is not installed (apt-get install mmdebstrap)");
    List<AptSource> sources = AptSources.forRelease(Path.of("/etc/apt"), "trixie");
    String release = sources.getFirst().uris().getFirst() + "/dists/trixie/InRelease";
    assumeTrue(
        SupervisedProcess.run(
                List.of("curl", "-fsS", "--max-time", "20", "-o", "/dev/null", release),
                true,
                _ -> {})
            == 0,
        "SKIPPED: the configured Debian mirror cannot be reached");
    directory = Files.createTempDirectory("hopx-build");
  }

  // JUnit's own removal warns about each of the many symbolic links.
  @AfterEach
  void leaveNothing() throws Exception {
    new ProcessBuilder("rm", "-rf", "--one-file-system", directory.toString()).start().waitFor();
  }

  @Test
  void aFailingPackageIsNamedAndNothingStays() throws IOException {
    Recipe recipe =
        TestRecipes.small("small", List.of("bash", "hopx-nosuch-package"), "true\n", VERIFY);
    assertThatThrownBy(() -> store(directory, recipe).prepare("small", _ -> {}))
        .isInstanceOf(TemplateException.class)
        .hasMessageContaining("hopx-nosuch-package");
    assertThat(buildDirectories(directory)).isEmpty();
    assertThat(mounts()).isEmpty();
  }

  /** A build is killed with its process, as by a power cut; the next one goes on. */
  @Test
  void anInterruptedBuildIsTakenUpWithItsDownloads() throws Exception {
    Path log = directory.resolve("child.log");
    Path storeDirectory = directory.resolve("templates");
    Process child =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                BuildInChild.class.getName(),
                storeDirectory.toString())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    try {
      long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(5);
      while (!Files.readString(log).contains("installing essential packages")) {
        assertThat(child.isAlive()).as(() -> text(log)).isTrue();
        assertThat(System.nanoTime()).as("time").isLessThan(deadline);
        TimeUnit.MILLISECONDS.sleep(20);
      }
    } finally {
      child.destroyForcibly().waitFor();
    }
    awaitNoProcess(storeDirectory);
    assertThat(buildDirectories(storeDirectory)).hasSize(1);
    assertThat(mounts()).isEmpty();

    TemplateStore store = store(storeDirectory, BuildInChild.RECIPE);
    assertThat(store.find("small").orElseThrow().isReady()).isFalse();
    List<Integer> percents = Collections.synchronizedList(new ArrayList<>());
    Template template = store.prepare("small", progress -> percents.add(progress.percent()));

    Path root = template.rootFileSystem().orElseThrow();
    assertThat(Files.readString(root.resolveSibling("build.log"))).contains("Need to get 0 B/");
    assertThat(buildDirectories(storeDirectory)).containsExactly(root.getParent());
    assertThat(percents).isSorted().endsWith(100);
    assertThat(root.resolveSibling("manifest.json")).content().containsPattern("\"bash\" : \"5");
    // The script ran inside, and what it needed for that is gone.
    assertThat(root.resolve("etc/customized")).content().isEqualTo("no network\n");
    assertThat(root.resolve("tmp")).isEmptyDirectory();
    assertThat(root.resolve("var/cache/apt/archives")).isDirectoryNotContaining("glob:**.deb");
    // The mirror's address, but nothing else of the host's apt.
    assertThat(root.resolve("etc/apt/sources.list.d/debian.sources"))
        .content()
        .contains("Suites: trixie")
        .doesNotContain("@");
    aFailingScriptIsNamed(root);
    assertThat(mounts()).isEmpty();
  }

  private void aFailingScriptIsNamed(Path root) {
    Script script = new Script("wrong.sh", "echo telling >&2; exit 3\n");
    assertThatThrownBy(
            () -> TemplateBuilder.runInside(BuildInChild.RECIPE, script, root, directory, _ -> {}))
        .isInstanceOf(TemplateException.class)
        .hasMessageContaining("wrong.sh")
        .hasMessageContaining("status 3")
        .hasMessageContaining("telling");
  }

  /** Builds into the directory given as the only argument, until it is killed. */
  static final class BuildInChild {
    static final Recipe RECIPE =
        TestRecipes.small(
            "small",
            MINIMAL,
            """
            set -e
            test "$(sed 1,2d /proc/net/dev | grep -vc ' lo:')" = 0
            echo 'no network' > /etc/customized
            touch /tmp/rubbish
            """,
            VERIFY);

    private BuildInChild() {}

    public static void main(String[] arguments) {
      store(Path.of(arguments[0]), RECIPE)
          .prepare("small", progress -> System.out.println(progress.step()));
    }
  }

  private static TemplateStore store(Path directory, Recipe recipe) {
    return new TemplateStore(
        directory,
        List.of(recipe),
        "amd64",
        new TemplateBuilder(directory.resolve("archives"), Path.of("/etc/apt")));
  }

  private static List<Path> buildDirectories(Path store) throws IOException {
    try (Stream<Path> files = Files.list(store)) {
      return files
          .filter(Files::isDirectory)
          .filter(file -> file.getFileName().toString().startsWith("sha256-"))
          .toList();
    }
  }

  private List<String> mounts() throws IOException {
    try (Stream<String> lines = Files.lines(Path.of("/proc/self/mounts"))) {
      return lines.filter(line -> line.contains(directory.toString())).toList();
    }
  }

  private static void awaitNoProcess(Path store) throws InterruptedException {
    for (int wait = 0; wait < 200; wait++) {
      if (ProcessHandle.allProcesses()
          .noneMatch(
              process -> process.info().commandLine().orElse("").contains(store.toString()))) {
        return;
      }
      TimeUnit.MILLISECONDS.sleep(50);
    }
    throw new AssertionError("Processes of the killed build are still alive");
  }

  private static String text(Path file) {
    try {
      return Files.readString(file, StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
