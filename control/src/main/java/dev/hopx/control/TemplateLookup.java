package dev.hopx.control;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.template.Template;
import dev.hopx.template.TemplateCatalog;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Finds templates for requests and words what is wrong when there is none. */
final class TemplateLookup {
  /** Longer references name nothing; comparing them with names would only cost time. */
  static final int MAX_REFERENCE_LENGTH = 128;

  /** A hint for clients that wait for a template; a build takes minutes. */
  static final int RETRY_AFTER_SECONDS = 10;

  private final TemplateCatalog catalog;

  TemplateLookup(TemplateCatalog catalog) {
    this.catalog = catalog;
  }

  List<Template> list() {
    return catalog.list();
  }

  /** By id or name; 404 with the nearest names otherwise (H16). */
  Template find(String reference) {
    return lookUp(reference).orElseThrow(() -> notFound(reference));
  }

  /** As {@link #find}, but only if sandboxes can be made from it now; never waits (F16). */
  Template ready(String reference) {
    Template template = find(reference);
    if (!template.isReady()) {
      throw new ApiException(
          ErrorCode.CONFLICT,
          "Template "
              + template.name()
              + " is not ready yet. ./hopx up prepares it and ./hopx status shows its state; try"
              + " again when it is ready",
          Map.of(
              "template",
              template.name(),
              "status",
              TemplateJson.NOT_READY,
              ControlErrors.RETRY_AFTER_DETAIL,
              RETRY_AFTER_SECONDS));
    }
    return template;
  }

  boolean isSame(String left, String right) {
    return lookUp(left).isPresent()
        && lookUp(left).map(Template::id).equals(lookUp(right).map(Template::id));
  }

  private Optional<Template> lookUp(String reference) {
    return reference.length() > MAX_REFERENCE_LENGTH ? Optional.empty() : catalog.find(reference);
  }

  private ApiException notFound(String reference) {
    if (reference.length() > MAX_REFERENCE_LENGTH) {
      return new ApiException(
          ErrorCode.RESOURCE_NOT_FOUND,
          "Template not found: its name has at most " + MAX_REFERENCE_LENGTH + " characters",
          Map.of("suggestions", List.of()));
    }
    List<String> suggestions = catalog.suggestions(reference);
    String hint =
        suggestions.isEmpty() ? "" : ". Did you mean " + String.join(" or ", suggestions) + "?";
    return new ApiException(
        ErrorCode.RESOURCE_NOT_FOUND,
        "Template not found: " + reference + hint,
        Map.of("template", reference, "suggestions", suggestions));
  }
}
