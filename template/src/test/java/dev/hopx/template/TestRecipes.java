package dev.hopx.template;

import dev.hopx.node.Resources;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Recipes for tests. */
final class TestRecipes {
  private TestRecipes() {}

  static Recipe small(String name, List<String> packages, String script, String verification) {
    return new Recipe(
        "9",
        name,
        "Small",
        "For tests",
        "test",
        Optional.empty(),
        List.of(),
        List.of(),
        new Resources(1, 128, 128, Resources.DEFAULT_PROCESSES),
        Map.of(),
        "trixie",
        packages,
        List.of(new Script("customize.sh", script)),
        new Script("verify.sh", verification),
        1);
  }
}
