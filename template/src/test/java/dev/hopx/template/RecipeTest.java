package dev.hopx.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

final class RecipeTest {
  private static final Recipe RECIPE = recipe(List.of("bash", "curl"), "true\n");

  /** A digest that changes without need makes every machine build its templates again. */
  @Test
  void digestIsWhatItAlwaysWas() {
    assertThat(RECIPE.digest("amd64"))
        .hasToString("sha256:e517c94f0d1743623be4e7f6a644a9f07c6767a4584dd688589ffeb9bd0b811d");
  }

  @Test
  void digestIgnoresOrderAndRepetitionOfPackages() {
    assertThat(recipe(List.of("curl", "bash", "curl"), "true\n").digest("amd64"))
        .isEqualTo(RECIPE.digest("amd64"));
  }

  @Test
  void digestFollowsEverythingThatIsInTheRootFileSystem() {
    assertThat(
            List.of(
                RECIPE.digest("amd64"),
                RECIPE.digest("arm64"),
                recipe(List.of("bash"), "true\n").digest("amd64"),
                recipe(List.of("bash", "curl"), "false\n").digest("amd64"),
                TestRecipes.small("name", List.of("bash", "curl"), "true\n", "false\n")
                    .digest("amd64")))
        .doesNotHaveDuplicates();
  }

  @Test
  void digestKeepsTextsApart() {
    Recipe first = TestRecipes.small("name", List.of("bash"), "ab", "c");
    Recipe second = TestRecipes.small("name", List.of("bash"), "a", "bc");
    assertThat(first.digest("amd64")).isNotEqualTo(second.digest("amd64"));
  }

  @Test
  void digestIgnoresTheName() {
    assertThat(
            TestRecipes.small("other", List.of("bash", "curl"), "true\n", "true\n").digest("amd64"))
        .isEqualTo(RECIPE.digest("amd64"));
  }

  @Test
  void directoryNameCanBeALayerOfAnOverlay() {
    assertThat(RECIPE.digest("amd64").directoryName()).matches("sha256-[0-9a-f]{64}");
    assertThatThrownBy(() -> new TemplateDigest("../../etc"))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void builtInRecipesOfferWhatIsDocumented() {
    List<Recipe> recipes = BuiltInRecipes.load();
    assertThat(recipes).extracting(Recipe::name).containsExactly("code-interpreter", "base");
    Recipe interpreter = recipes.getFirst();
    assertThat(interpreter.id()).isEqualTo("73");
    assertThat(interpreter.language()).contains("python");
    assertThat(interpreter.resources().vcpus()).isEqualTo(2);
    assertThat(interpreter.resources().memoryMib()).isEqualTo(4096);
    assertThat(interpreter.resources().diskMib()).isEqualTo(10_240);
    // The command line client shows text in square brackets as markup.
    assertThat(recipes).allSatisfy(recipe -> assertThat(recipe.description()).doesNotContain("["));
  }

  private static Recipe recipe(List<String> packages, String script) {
    return TestRecipes.small("name", packages, script, "true\n");
  }
}
