package dev.hopx.control;

import java.time.Instant;
import java.util.Optional;
import org.jdbi.v3.core.Handle;

/** The table of answers that are given again for the same {@code Idempotency-Key} (decision 8). */
final class IdempotencyRows {
  private IdempotencyRows() {}

  static Optional<Answer> find(
      Handle handle, long organizationId, String key, Instant createdSince) {
    return handle
        .createQuery(
            "SELECT body_digest, sandbox_id, answer, token_id FROM idempotency_keys WHERE"
                + " organization_id = :organization AND idempotency_key = :key AND created_at >="
                + " :since")
        .bind("organization", organizationId)
        .bind("key", key)
        .bind("since", createdSince.toEpochMilli())
        .map(
            (row, _) ->
                new Answer(
                    row.getString("body_digest"),
                    row.getString("sandbox_id"),
                    row.getString("answer"),
                    row.getString("token_id")))
        .findOne();
  }

  static void put(Handle handle, long organizationId, String key, Answer answer, Instant now) {
    handle
        .createUpdate(
            "DELETE FROM idempotency_keys WHERE organization_id = :organization AND idempotency_key"
                + " = :key")
        .bind("organization", organizationId)
        .bind("key", key)
        .execute();
    handle
        .createUpdate(
            "INSERT INTO idempotency_keys (organization_id, idempotency_key, body_digest,"
                + " sandbox_id, answer, token_id, created_at) VALUES (:organization, :key, :body,"
                + " :sandbox, :answer, :token, :now)")
        .bind("organization", organizationId)
        .bind("key", key)
        .bind("body", answer.bodyDigest())
        .bind("sandbox", answer.sandboxId())
        .bind("answer", answer.json())
        .bind("token", answer.tokenId())
        .bind("now", now.toEpochMilli())
        .execute();
  }

  /** For an answer nobody received. */
  static void remove(Handle handle, String sandboxId) {
    handle
        .createUpdate("DELETE FROM idempotency_keys WHERE sandbox_id = :sandbox")
        .bind("sandbox", sandboxId)
        .execute();
  }

  static int removeCreatedBefore(Handle handle, Instant before) {
    return handle
        .createUpdate("DELETE FROM idempotency_keys WHERE created_at < :before")
        .bind("before", before.toEpochMilli())
        .execute();
  }

  /**
   * An answer as it was given.
   *
   * @param json the sandbox object without its token
   */
  record Answer(String bodyDigest, String sandboxId, String json, String tokenId) {}
}
