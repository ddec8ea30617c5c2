package dev.hopx.control;

import dev.hopx.node.Resources;
import dev.hopx.node.SandboxId;
import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A sandbox as the store knows it.
 *
 * @param templateDigest digest of the template it was made from
 * @param isolation wire name of its isolation level, empty while it is being made
 * @param environment given at creation; the user's secrets, so never in logs or labels
 * @param metadata JSON object as text, the user's own
 * @param agentPort TCP port of its agent while it lives, else 0
 * @param publicHost URL of its agent, empty while it is being made
 * @param timeoutSeconds as last asked for, empty without an expiry
 */
public record SandboxRecord(
    SandboxId id,
    long organizationId,
    SandboxStatus status,
    String templateId,
    String templateName,
    String templateDigest,
    String nodeId,
    String region,
    Resources resources,
    boolean internetAccess,
    Optional<String> isolation,
    Map<String, String> environment,
    String metadata,
    int agentPort,
    Optional<String> publicHost,
    OptionalLong timeoutSeconds,
    Optional<Instant> expiresAt,
    Instant createdAt,
    Optional<Instant> startedAt,
    Optional<Instant> endedAt,
    Optional<EndReason> endReason,
    Instant updatedAt) {
  public SandboxRecord {
    environment = Collections.unmodifiableMap(new LinkedHashMap<>(environment));
  }

  /** The same on another port. */
  public SandboxRecord withAgentPort(int port) {
    return new SandboxRecord(
        id,
        organizationId,
        status,
        templateId,
        templateName,
        templateDigest,
        nodeId,
        region,
        resources,
        internetAccess,
        isolation,
        environment,
        metadata,
        port,
        publicHost,
        timeoutSeconds,
        expiresAt,
        createdAt,
        startedAt,
        endedAt,
        endReason,
        updatedAt);
  }

  /** True once its timeout has come. */
  boolean isExpired(Instant now) {
    return expiresAt.isPresent() && !expiresAt.get().isAfter(now);
  }

  /** Without the values of the environment. */
  @Override
  public String toString() {
    return "SandboxRecord[" + id + " " + status + " " + templateName + " port " + agentPort + "]";
  }
}
