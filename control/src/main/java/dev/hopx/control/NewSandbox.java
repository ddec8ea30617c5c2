package dev.hopx.control;

import dev.hopx.template.Template;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A sandbox somebody asks for, judged already.
 *
 * @param timeoutSeconds 1 to {@link SandboxRequests#MAX_TIMEOUT_SECONDS}, empty for no expiry
 * @param metadata JSON object as text
 */
public record NewSandbox(
    Template template,
    Optional<String> region,
    OptionalLong timeoutSeconds,
    boolean internetAccess,
    Map<String, String> environment,
    String metadata) {
  public NewSandbox {
    environment = Collections.unmodifiableMap(new LinkedHashMap<>(environment));
  }

  /** Without the values of the environment. */
  @Override
  public String toString() {
    return "NewSandbox[" + template.name() + "]";
  }
}
