package dev.hopx.control;

import dev.hopx.node.Resources;
import dev.hopx.template.Template;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The template object (contract §2.6): ids are strings, lists and {@code default_resources} are
 * never null, and the disk is in whole gigabytes where a sandbox has megabytes (LIF-05).
 */
final class TemplateJson {
  static final String READY = "active";
  static final String NOT_READY = "pending";
  private static final int MIB_PER_GIB = 1024;

  private TemplateJson() {}

  static Map<String, @Nullable Object> of(Template template) {
    Map<String, @Nullable Object> json = new LinkedHashMap<>();
    json.put("object", "template");
    json.put("id", template.id());
    json.put("name", template.name());
    json.put("display_name", template.displayName());
    json.put("description", template.description());
    json.put("category", template.category());
    json.put("language", template.language().orElse(null));
    json.put("icon", null);
    json.put("status", template.isReady() ? READY : NOT_READY);
    json.put("is_active", template.isReady());
    json.put("is_public", true);
    json.put("organization_id", null);
    json.put("features", template.features());
    json.put("tags", template.tags());
    // A sandbox gets exactly what its template says (LIF-06), so the three are one.
    json.put("default_resources", resources(template.resources()));
    json.put("min_resources", resources(template.resources()));
    json.put("max_resources", resources(template.resources()));
    json.put("popularity_score", null);
    json.put("docs_url", null);
    json.put("build_id", null);
    json.put("created_at", null);
    json.put("updated_at", null);
    return json;
  }

  private static Map<String, Object> resources(Resources resources) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("vcpu", resources.vcpus());
    json.put("memory_mb", resources.memoryMib());
    json.put("disk_gb", Math.ceilDiv(resources.diskMib(), MIB_PER_GIB));
    return json;
  }
}
