package dev.hopx.control;

import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/**
 * The sandbox object (contract §2.2). Types are strict: the Python SDK fails on an organisation id
 * that is no number and on a template id that is one.
 */
final class SandboxJson {
  private static final JsonMapper JSON = new JsonMapper();

  private SandboxJson() {}

  /** A sandbox that is or was running; without a token. */
  static Map<String, @Nullable Object> of(SandboxRecord sandbox) {
    Map<String, Object> resources = new LinkedHashMap<>();
    resources.put("vcpu", sandbox.resources().vcpus());
    resources.put("memory_mb", sandbox.resources().memoryMib());
    resources.put("disk_mb", sandbox.resources().diskMib());

    Map<String, @Nullable Object> json = new LinkedHashMap<>();
    json.put("object", "sandbox");
    json.put("id", sandbox.id().value());
    json.put("status", sandbox.status().wireName());
    json.put("public_host", sandbox.publicHost().orElse(""));
    json.put("direct_url", sandbox.publicHost().orElse(""));
    json.put("preview_url", null);
    json.put("template_id", sandbox.templateId());
    json.put("template_name", sandbox.templateName());
    json.put("organization_id", sandbox.organizationId());
    json.put("node_id", sandbox.nodeId());
    json.put("region", sandbox.region());
    json.put("resources", resources);
    json.put("isolation", sandbox.isolation().orElse(null));
    json.put("internet_access", sandbox.internetAccess());
    json.put("live_mode", true);
    json.put("timeout_seconds", number(sandbox.timeoutSeconds()));
    json.put("expires_at", timestamp(sandbox.expiresAt()));
    json.put("created_at", Timestamps.format(sandbox.createdAt()));
    json.put("started_at", timestamp(sandbox.startedAt()));
    json.put("end_at", timestamp(sandbox.expiresAt()));
    json.put("updated_at", Timestamps.format(sandbox.updatedAt()));
    json.put("metadata", JSON.readTree(sandbox.metadata()));
    return json;
  }

  /** Adds what opens the sandbox. */
  static Map<String, @Nullable Object> withToken(
      Map<String, @Nullable Object> json, SandboxToken token) {
    json.put("auth_token", token.value());
    json.put("token_expires_at", Timestamps.format(token.expires()));
    return json;
  }

  static @Nullable Long number(OptionalLong value) {
    return value.isPresent() ? value.getAsLong() : null;
  }

  static @Nullable String timestamp(Optional<Instant> instant) {
    return instant.map(Timestamps::format).orElse(null);
  }
}
