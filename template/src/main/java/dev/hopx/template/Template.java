package dev.hopx.template;

import dev.hopx.node.Resources;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A template sandboxes can be made from.
 *
 * @param id numeric text, e.g. "73"
 * @param digest of the recipe, {@code sha256:…}; keys the stored root file system
 * @param environment defaults below everything a user sets
 * @param rootFileSystem the read-only root directory, empty while it is not built
 */
public record Template(
    String id,
    String name,
    String displayName,
    String description,
    String category,
    Optional<String> language,
    List<String> features,
    List<String> tags,
    Resources resources,
    Map<String, String> environment,
    String digest,
    Optional<Path> rootFileSystem) {
  public Template {
    features = List.copyOf(features);
    tags = List.copyOf(tags);
    environment = Map.copyOf(environment);
  }

  public boolean isReady() {
    return rootFileSystem.isPresent();
  }
}
