package dev.hopx.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class TemplateStoreTest {
  private static final Recipe RECIPE =
      TestRecipes.small("code-interpreter", List.of("bash"), "true\n", "true\n");
  private static final Recipe OTHER =
      TestRecipes.small("base", List.of("dash"), "true\n", "true\n");
  private static final String DIRECTORY = RECIPE.digest("amd64").directoryName();

  @TempDir Path parent;
  private final FakeBuilder builder = new FakeBuilder();
  private Path directory = Path.of("/nonexistent");

  @BeforeEach
  void inTemporaryDirectory() {
    directory = parent.resolve("templates");
  }

  @Test
  void aTemplateIsReadyOnceItIsBuilt() throws IOException {
    TemplateStore store = store();
    assertThat(store.find("code-interpreter").orElseThrow().isReady()).isFalse();
    Template template = store.prepare("code-interpreter", _ -> {});
    assertThat(template.rootFileSystem()).contains(directory.resolve(DIRECTORY).resolve("rootfs"));
    assertThat(template.digest()).isEqualTo(RECIPE.digest("amd64").toString());
    assertThat(store.find("9").orElseThrow()).isEqualTo(template);
    assertThat(names()).containsExactlyInAnyOrder(DIRECTORY, "build.lock");
    assertThat(directory.resolve(DIRECTORY))
        .isDirectoryContaining("glob:**/recipe.json")
        .isDirectoryContaining("glob:**/manifest.json")
        .isDirectoryContaining("glob:**/build.log");
    assertThat(directory.resolve(DIRECTORY).resolve("manifest.json"))
        .content()
        .contains("\"tool\" : \"1.2\"");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(directory)))
        .isEqualTo("rwx------");
  }

  @Test
  void itIsBuiltOnceAlsoForTheNextStore() {
    store().prepare("code-interpreter", _ -> {});
    store().prepare("code-interpreter", _ -> {});
    assertThat(builder.builds).hasValue(1);
  }

  @Test
  void manyThreadsBuildItOnce() throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    List<Template> results = Collections.synchronizedList(new ArrayList<>());
    for (int index = 0; index < 4; index++) {
      threads.add(
          Thread.ofVirtual()
              .start(() -> results.add(store().prepare("code-interpreter", _ -> {}))));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(results).hasSize(4).allMatch(Template::isReady);
    assertThat(builder.builds).hasValue(1);
  }

  @Test
  void whatAnInterruptedBuildLeftIsNoTemplateAndIsRemoved() throws IOException {
    Path leftover = directory.resolve(DIRECTORY + ".building-123");
    Files.createDirectories(leftover.resolve("rootfs/deep"));
    TemplateStore store = store();
    assertThat(store.find("code-interpreter").orElseThrow().isReady()).isFalse();
    store.prepare("code-interpreter", _ -> {});
    assertThat(leftover).doesNotExist();
  }

  @Test
  void aDirectoryWithoutTheMarkIsBuiltAgain() throws IOException {
    Path half = directory.resolve(DIRECTORY);
    Files.createDirectories(half.resolve("rootfs"));
    TemplateStore store = store();
    assertThat(store.find("code-interpreter").orElseThrow().isReady()).isFalse();
    store.prepare("code-interpreter", _ -> {});
    assertThat(half.resolve("rootfs/file")).hasContent("code-interpreter");
  }

  @Test
  void aFailedBuildLeavesItsLogAndNothingElse() throws IOException {
    builder.failWith("package numpy cannot be downloaded");
    assertThatThrownBy(() -> store().prepare("code-interpreter", _ -> {}))
        .isInstanceOf(TemplateException.class)
        .hasMessageContaining("package numpy cannot be downloaded")
        .hasMessageContaining(directory.resolve(DIRECTORY + ".failed.log").toString());
    assertThat(names()).containsExactlyInAnyOrder(DIRECTORY + ".failed.log", "build.lock");
    builder.failWith("");
    store().prepare("code-interpreter", _ -> {});
    assertThat(names()).containsExactlyInAnyOrder(DIRECTORY, "build.lock");
  }

  @Test
  void anUnknownNameTellsTheKnownOnes() {
    assertThatThrownBy(() -> store().prepare("nosuch", _ -> {}))
        .isInstanceOf(TemplateException.class)
        .hasMessageContaining("nosuch")
        .hasMessageContaining("code-interpreter, base");
    assertThat(store().find("nosuch")).isEmpty();
    assertThat(directory).doesNotExist();
  }

  @Test
  void nearNamesAreSuggested() {
    assertThat(store().suggestions("code-interpretr")).containsExactly("code-interpreter");
    assertThat(store().suggestions("Code_Interpreter")).containsExactly("code-interpreter");
    assertThat(store().suggestions("interpreter")).containsExactly("code-interpreter");
    assertThat(store().suggestions("bsae")).containsExactly("base");
    assertThat(store().suggestions("completely-different")).isEmpty();
    assertThat(store().suggestions("")).isEmpty();
  }

  @Test
  void tooLittleSpaceIsSaidBeforeTheBuild() {
    Recipe huge =
        new Recipe(
            "9",
            "huge",
            "Huge",
            "For tests",
            "test",
            RECIPE.language(),
            List.of(),
            List.of(),
            RECIPE.resources(),
            RECIPE.environment(),
            "trixie",
            List.of("bash"),
            List.of(),
            RECIPE.verification(),
            Integer.MAX_VALUE);
    assertThatThrownBy(() -> store(huge).prepare("huge", _ -> {}))
        .isInstanceOf(TemplateException.class)
        .hasMessageContaining("MiB free");
    assertThat(builder.builds).hasValue(0);
  }

  private TemplateStore store() {
    return store(RECIPE, OTHER);
  }

  private TemplateStore store(Recipe... recipes) {
    return new TemplateStore(directory, List.of(recipes), "amd64", builder);
  }

  private List<String> names() throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.map(file -> file.getFileName().toString()).toList();
    }
  }
}
