package dev.hopx.control;

import dev.hopx.node.SandboxId;
import java.time.Instant;
import org.jdbi.v3.core.Handle;

/**
 * The moves between running, paused and stopped. Each is a compare-and-set that also halts the
 * clock of the timeout, or lets it go on with what was left (decision 10).
 */
final class LifecycleRows {
  private LifecycleRows() {}

  /**
   * running → paused or stopped; not for one whose time has come.
   *
   * @return whether it was this call that moved it
   */
  static boolean halt(Handle handle, SandboxId id, SandboxStatus target, Instant now) {
    return handle
            .createUpdate(
                "UPDATE sandboxes SET status = :target, remaining_millis = expires_at - :now,"
                    + " expires_at = NULL, updated_at = :now WHERE id = :id AND status = 'running'"
                    + " AND (expires_at IS NULL OR expires_at > :now)")
            .bind("id", id.value())
            .bind("target", target.wireName())
            .bind("now", now.toEpochMilli())
            .execute()
        == 1;
  }

  /** paused → running. */
  static boolean resume(Handle handle, SandboxId id, Instant now) {
    return goOn(handle, id, SandboxStatus.PAUSED, "", now);
  }

  /** stopped → running. */
  static boolean start(Handle handle, SandboxId id, Instant now) {
    return goOn(handle, id, SandboxStatus.STOPPED, "started_at = :now, ", now);
  }

  private static boolean goOn(
      Handle handle, SandboxId id, SandboxStatus from, String more, Instant now) {
    return handle
            .createUpdate(
                "UPDATE sandboxes SET status = 'running', "
                    + more
                    + "expires_at = :now + remaining_millis, remaining_millis = NULL, updated_at ="
                    + " :now WHERE id = :id AND status = :from")
            .bind("id", id.value())
            .bind("from", from.wireName())
            .bind("now", now.toEpochMilli())
            .execute()
        == 1;
  }
}
