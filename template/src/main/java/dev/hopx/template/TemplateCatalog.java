package dev.hopx.template;

import java.util.List;
import java.util.Optional;

/** The templates of this server. Thread-safe. */
public interface TemplateCatalog {
  /** All templates, in a stable order. */
  List<Template> list();

  /** By id ("73") or name ("code-interpreter"). */
  Optional<Template> find(String idOrName);

  /** Names near to {@code idOrName}, nearest first, for "did you mean"; at most three. */
  List<String> suggestions(String idOrName);
}
