package dev.hopx.control;

import dev.hopx.node.Resources;
import dev.hopx.template.Template;
import dev.hopx.template.TemplateCatalog;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;

/** Three templates, one of them not built; more can be added. */
final class FakeCatalog implements TemplateCatalog {
  private final List<Template> templates =
      new CopyOnWriteArrayList<>(
          List.of(
              template("73", "code-interpreter", Optional.of("python"), true),
              template("1", "base", Optional.empty(), true),
              template("80", "slow", Optional.empty(), false)));

  static Template template(String id, String name, Optional<String> language, boolean ready) {
    return new Template(
        id,
        name,
        "Display of " + name,
        "Description of " + name,
        "development",
        language,
        List.of("bash"),
        List.of("test"),
        new Resources(2, 4096, 10_240, Resources.DEFAULT_PROCESSES),
        Map.of(),
        "sha256:" + "0".repeat(64),
        ready ? Optional.of(Path.of("/nonexistent", name)) : Optional.empty());
  }

  void add(Template template) {
    templates.add(template);
  }

  void clear() {
    templates.clear();
  }

  @Override
  public List<Template> list() {
    return List.copyOf(templates);
  }

  @Override
  public Optional<Template> find(String idOrName) {
    return templates.stream()
        .filter(template -> template.id().equals(idOrName) || template.name().equals(idOrName))
        .findFirst();
  }

  @Override
  public List<String> suggestions(String idOrName) {
    return templates.stream()
        .map(Template::name)
        .filter(name -> name.charAt(0) == idOrName.charAt(0))
        .limit(3)
        .toList();
  }
}
