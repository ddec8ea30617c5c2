package dev.hopx.control;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.api.Variables;
import dev.hopx.template.Template;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Judges the bodies of sandbox requests; what is wrong is a 400 that names the field. */
final class SandboxRequests {
  /** Ten years. More is a mistake, such as milliseconds twice over, and not a wish (F10). */
  static final long MAX_TIMEOUT_SECONDS = 315_360_000;

  /** Bytes of the metadata as JSON. */
  static final int MAX_METADATA_BYTES = 65_536;

  /** Sizes come from the template (LIF-06); these are ignored, but nonsense is not. */
  private static final List<String> IGNORED_SIZES =
      List.of("vcpu", "cpu", "memory_mb", "memory", "disk_mb", "disk_gb");

  private final Regions regions;
  private final TemplateLookup templates;

  SandboxRequests(Regions regions, TemplateLookup templates) {
    this.regions = regions;
    this.templates = templates;
  }

  /** The body of {@code POST /v1/sandboxes}. */
  NewSandbox parseCreate(ObjectNode body) {
    // All fields first: a mistake in the request is told before the state of the template.
    Optional<String> reference = templateReference(body);
    OptionalLong timeout = timeout(body);
    if (timeout.isPresent() && timeout.getAsLong() == 0) {
      throw invalid("timeout_seconds", "must be positive; leave it out for no expiry");
    }
    boolean internet = bool(body, "internet_access", true);
    Map<String, String> environment = environment(body);
    Optional<String> region = region(body);
    String metadata = metadata(body);
    IGNORED_SIZES.forEach(name -> checkIgnoredSize(body, name));
    Template template =
        templates.ready(
            reference.orElseThrow(
                () ->
                    new ApiException(
                        ErrorCode.INVALID_REQUEST,
                        "Invalid template_id: give template_id (an id or a name) or template_name",
                        Map.of("field", "template_id"))));
    return new NewSandbox(template, region, timeout, internet, environment, metadata);
  }

  /** The body of {@code PUT …/timeout}; empty for 0 and null, which mean no expiry (decision 9). */
  OptionalLong parseTimeout(ObjectNode body) {
    if (!body.has("timeout_seconds")) {
      throw invalid("timeout_seconds", "is missing; give seconds from now, or 0 for no expiry");
    }
    OptionalLong timeout = timeout(body);
    return timeout.isPresent() && timeout.getAsLong() == 0 ? OptionalLong.empty() : timeout;
  }

  /** A region of a request or a filter. */
  String checkRegion(String name) {
    if (!regions.isKnown(name)) {
      throw invalid("region", "no such region; leave it out, or use " + regions.local());
    }
    return name;
  }

  private Optional<String> templateReference(ObjectNode body) {
    Optional<String> id = templateId(body);
    Optional<String> name = text(body, "template_name");
    if (id.isPresent() && name.isPresent() && !templates.isSame(id.get(), name.get())) {
      throw invalid("template_name", "template_id says another template; give one of the two");
    }
    return id.or(() -> name);
  }

  private static Optional<String> templateId(ObjectNode body) {
    JsonNode value = body.path("template_id");
    // The published OpenAPI description wraps the id in an object.
    if (value.isObject() && value.has("value")) {
      value = value.path("value");
    }
    if (value.isMissingNode() || value.isNull()) {
      return Optional.empty();
    }
    if (value.isIntegralNumber()) {
      return Optional.of(value.bigIntegerValue().toString());
    }
    if (!value.isString()) {
      throw invalid("template_id", "must be an id or a name");
    }
    return Optional.of(notBlank("template_id", value.stringValue()));
  }

  private Optional<String> region(ObjectNode body) {
    return text(body, "region").map(this::checkRegion);
  }

  /** 0 to the maximum; negative or no whole number is refused. */
  private static OptionalLong timeout(ObjectNode body) {
    JsonNode value = body.path("timeout_seconds");
    if (value.isMissingNode() || value.isNull()) {
      return OptionalLong.empty();
    }
    if (!value.isIntegralNumber()) {
      throw invalid("timeout_seconds", "must be a whole number of seconds");
    }
    BigInteger seconds = value.bigIntegerValue();
    if (seconds.signum() < 0) {
      throw invalid("timeout_seconds", "must be positive");
    }
    if (seconds.compareTo(BigInteger.valueOf(MAX_TIMEOUT_SECONDS)) > 0) {
      throw invalid("timeout_seconds", "must be at most " + MAX_TIMEOUT_SECONDS);
    }
    return OptionalLong.of(seconds.longValueExact());
  }

  private static Map<String, String> environment(ObjectNode body) {
    JsonNode value = body.path("env_vars");
    if (value.isMissingNode() || value.isNull()) {
      return Map.of();
    }
    if (!value.isObject()) {
      throw invalid("env_vars", "must be an object of strings");
    }
    Map<String, String> environment = new LinkedHashMap<>();
    for (Map.Entry<String, JsonNode> variable : value.properties()) {
      String name = variable.getKey();
      if (!variable.getValue().isString()) {
        throw invalid("env_vars." + abbreviate(name), "must be a string");
      }
      String text = variable.getValue().stringValue();
      Variables.check("env_vars", name, text);
      environment.put(name, text);
    }
    Variables.checkSize("env_vars", environment, Variables.MAX_AT_CREATION);
    return environment;
  }

  private static String metadata(ObjectNode body) {
    JsonNode value = body.path("metadata");
    if (value.isMissingNode() || value.isNull()) {
      return "{}";
    }
    if (!value.isObject()) {
      throw invalid("metadata", "must be an object");
    }
    String text = value.toString();
    if (utf8Length(text) > MAX_METADATA_BYTES) {
      throw invalid("metadata", "must be at most " + MAX_METADATA_BYTES + " bytes of JSON");
    }
    return text;
  }

  private static void checkIgnoredSize(ObjectNode body, String name) {
    JsonNode value = body.path(name);
    if (value.isMissingNode() || value.isNull()) {
      return;
    }
    if (!value.isNumber() || value.doubleValue() <= 0) {
      throw invalid(name, "must be a positive number (sizes come from the template)");
    }
  }

  private static boolean bool(ObjectNode body, String name, boolean otherwise) {
    JsonNode value = body.path(name);
    if (value.isMissingNode() || value.isNull()) {
      return otherwise;
    }
    if (!value.isBoolean()) {
      throw invalid(name, "must be true or false");
    }
    return value.booleanValue();
  }

  private static Optional<String> text(ObjectNode body, String name) {
    JsonNode value = body.path(name);
    if (value.isMissingNode() || value.isNull()) {
      return Optional.empty();
    }
    if (!value.isString()) {
      throw invalid(name, "must be a string");
    }
    return Optional.of(notBlank(name, value.stringValue()));
  }

  private static String notBlank(String field, String value) {
    if (value.isBlank()) {
      throw invalid(field, "must not be empty");
    }
    return value;
  }

  private static int utf8Length(String text) {
    return text.getBytes(StandardCharsets.UTF_8).length;
  }

  private static String abbreviate(String name) {
    return name.length() <= 64 ? name : name.substring(0, 64) + "…";
  }

  private static ApiException invalid(String field, String why) {
    return ApiException.invalidField(field, why);
  }
}
