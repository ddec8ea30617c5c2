package dev.hopx.control;

import java.time.Instant;

/**
 * A token for the agent of one sandbox.
 *
 * @param value what clients send; a secret
 * @param id unique among all tokens
 * @param expires advertised end, whole milliseconds
 */
public record SandboxToken(String value, String id, Instant expires) {
  /** Without the secret. */
  @Override
  public String toString() {
    return "SandboxToken[" + id + " until " + expires + "]";
  }
}
