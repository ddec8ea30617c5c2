package dev.hopx.control;

import dev.hopx.node.Resources;
import dev.hopx.node.SandboxId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/**
 * The table of sandboxes. Each change of status is a compare-and-set, whose answer says whether it
 * was this caller who made it. What a client asks for names its organisation; the service itself
 * does not.
 */
final class SandboxRows {
  private static final JsonMapper JSON = new JsonMapper();
  private static final TypeReference<Map<String, String>> STRINGS = new TypeReference<>() {};

  /** Statuses in which a sandbox can be used, deleted, and expires; as {@code isVisible()}. */
  private static final String VISIBLE = "status IN ('running', 'paused', 'stopped', 'error')";

  /** The clock of a timeout stands still while a sandbox is paused or stopped (decision 10). */
  private static final String CLOCK_RUNS = "status IN ('running', 'error')";

  private SandboxRows() {}

  static int insert(Handle handle, SandboxRecord sandbox) {
    return handle
        .createUpdate(
            """
            INSERT INTO sandboxes (id, organization_id, status, template_id, template_name,
              template_digest, node_id, region, vcpus, memory_mib, disk_mib, processes,
              internet_access, environment, metadata, agent_port, timeout_seconds, expires_at,
              created_at, updated_at)
            VALUES (:id, :organization, :status, :templateId, :templateName,
              :templateDigest, :node, :region, :vcpus, :memory, :disk, :processes,
              :internet, :environment, :metadata, :port, :timeout, :expires,
              :created, :updated)
            """)
        .bind("id", sandbox.id().value())
        .bind("organization", sandbox.organizationId())
        .bind("status", sandbox.status().wireName())
        .bind("templateId", sandbox.templateId())
        .bind("templateName", sandbox.templateName())
        .bind("templateDigest", sandbox.templateDigest())
        .bind("node", sandbox.nodeId())
        .bind("region", sandbox.region())
        .bind("vcpus", sandbox.resources().vcpus())
        .bind("memory", sandbox.resources().memoryMib())
        .bind("disk", sandbox.resources().diskMib())
        .bind("processes", sandbox.resources().processes())
        .bind("internet", sandbox.internetAccess())
        .bind("environment", JSON.writeValueAsString(sandbox.environment()))
        .bind("metadata", sandbox.metadata())
        .bind("port", sandbox.agentPort())
        .bind("timeout", sandbox.timeoutSeconds())
        .bind("expires", millis(sandbox.expiresAt()))
        .bind("created", sandbox.createdAt().toEpochMilli())
        .bind("updated", sandbox.updatedAt().toEpochMilli())
        .execute();
  }

  /** A sandbox of one organisation, whatever its status. */
  static Optional<SandboxRecord> find(Handle handle, long organizationId, String id) {
    return handle
        .createQuery("SELECT * FROM sandboxes WHERE id = :id AND organization_id = :organization")
        .bind("id", id)
        .bind("organization", organizationId)
        .map(SandboxRows::map)
        .findOne();
  }

  /** A sandbox of any organisation, whatever its status. */
  static Optional<SandboxRecord> find(Handle handle, SandboxId id) {
    return handle
        .createQuery("SELECT * FROM sandboxes WHERE id = :id")
        .bind("id", id.value())
        .map(SandboxRows::map)
        .findOne();
  }

  /** All sandboxes of all organisations that are not mere tombstones. */
  static List<SandboxRecord> notDeleted(Handle handle) {
    return handle
        .createQuery("SELECT * FROM sandboxes WHERE status <> 'deleted' ORDER BY created_at, id")
        .map(SandboxRows::map)
        .list();
  }

  static List<SandboxRecord> withStatus(Handle handle, SandboxStatus status) {
    return handle
        .createQuery("SELECT * FROM sandboxes WHERE status = :status ORDER BY created_at, id")
        .bind("status", status.wireName())
        .map(SandboxRows::map)
        .list();
  }

  /**
   * Visible sandboxes of one organisation that have not expired, newest first, from behind {@code
   * after} on.
   */
  static List<SandboxRecord> page(
      Handle handle,
      long organizationId,
      SandboxFilter filter,
      Optional<SandboxCursor> after,
      Instant now,
      int limit) {
    StringBuilder sql =
        new StringBuilder("SELECT * FROM sandboxes WHERE organization_id = :organization AND ")
            .append(VISIBLE)
            .append(" AND (expires_at IS NULL OR expires_at > :now OR NOT ")
            .append(CLOCK_RUNS)
            .append(')');
    if (filter.status().isPresent()) {
      sql.append(" AND status = :status");
    }
    if (filter.region().isPresent()) {
      sql.append(" AND region = :region");
    }
    if (after.isPresent()) {
      sql.append(
          " AND (created_at < :afterCreated OR (created_at = :afterCreated AND id < :afterId))");
    }
    sql.append(" ORDER BY created_at DESC, id DESC LIMIT :limit");
    var query =
        handle
            .createQuery(sql.toString())
            .bind("organization", organizationId)
            .bind("now", now.toEpochMilli())
            .bind("limit", limit);
    filter.status().ifPresent(status -> query.bind("status", status.wireName()));
    filter.region().ifPresent(region -> query.bind("region", region));
    after.ifPresent(
        cursor ->
            query
                .bind("afterCreated", cursor.createdAtMillis())
                .bind("afterId", cursor.sandboxId()));
    return query.map(SandboxRows::map).list();
  }

  /**
   * creating → running. Only now does it count as created, so that its timeout is the user's in
   * full and its place in a listing is one at which it appeared.
   */
  static boolean start(
      Handle handle,
      SandboxId id,
      String publicHost,
      String isolation,
      Optional<Instant> expires,
      Instant now) {
    return handle
            .createUpdate(
                "UPDATE sandboxes SET status = 'running', public_host = :host, isolation ="
                    + " :isolation, expires_at = :expires, created_at = :now, started_at = :now,"
                    + " updated_at = :now WHERE id = :id AND status = 'creating'")
            .bind("id", id.value())
            .bind("host", publicHost)
            .bind("isolation", isolation)
            .bind("expires", millis(expires))
            .bind("now", now.toEpochMilli())
            .execute()
        == 1;
  }

  static int setAgentPort(Handle handle, SandboxId id, int port, Instant now) {
    return handle
        .createUpdate("UPDATE sandboxes SET agent_port = :port, updated_at = :now WHERE id = :id")
        .bind("id", id.value())
        .bind("port", port)
        .bind("now", now.toEpochMilli())
        .execute();
  }

  /** Where the agent is reached now; no change counts as none. */
  static int setPublicHost(Handle handle, SandboxId id, String publicHost, Instant now) {
    return handle
        .createUpdate(
            "UPDATE sandboxes SET public_host = :host, updated_at = :now WHERE id = :id AND"
                + " (public_host IS NULL OR public_host <> :host)")
        .bind("id", id.value())
        .bind("host", publicHost)
        .bind("now", now.toEpochMilli())
        .execute();
  }

  /**
   * Another timeout for a sandbox that is visible and has not expired; where the clock stands still
   * it is what will be left when that goes on.
   */
  static boolean changeTimeout(
      Handle handle,
      long organizationId,
      SandboxId id,
      OptionalLong timeoutSeconds,
      Optional<Instant> expires,
      Instant now) {
    return handle
            .createUpdate(
                "UPDATE sandboxes SET timeout_seconds = :timeout, expires_at = CASE WHEN "
                    + CLOCK_RUNS
                    + " THEN :expires ELSE NULL END, remaining_millis = CASE WHEN "
                    + CLOCK_RUNS
                    + " THEN NULL ELSE :timeout * 1000 END, updated_at = :now WHERE id = :id AND organization_id = :organization AND "
                    + VISIBLE
                    + " AND (expires_at IS NULL OR expires_at > :now OR NOT "
                    + CLOCK_RUNS
                    + ")")
            .bind("id", id.value())
            .bind("organization", organizationId)
            .bind("timeout", timeoutSeconds)
            .bind("expires", millis(expires))
            .bind("now", now.toEpochMilli())
            .execute()
        == 1;
  }

  /** running or paused → error, in which the clock runs. */
  static boolean fail(Handle handle, SandboxId id, Instant now) {
    return handle
            .createUpdate(
                "UPDATE sandboxes SET status = 'error', expires_at = COALESCE(expires_at, :now +"
                    + " remaining_millis), remaining_millis = NULL, updated_at = :now WHERE id ="
                    + " :id AND status IN ('running', 'paused')")
            .bind("id", id.value())
            .bind("now", now.toEpochMilli())
            .execute()
        == 1;
  }

  /** creating → deleting, for what could not be made. */
  static boolean abandon(Handle handle, SandboxId id, Instant now) {
    return handle
            .createUpdate(
                "UPDATE sandboxes SET status = 'deleting', end_reason = 'lost', updated_at = :now"
                    + " WHERE id = :id AND status = 'creating'")
            .bind("id", id.value())
            .bind("now", now.toEpochMilli())
            .execute()
        == 1;
  }

  /** Any visible status → deleting. */
  static boolean beginDeletion(Handle handle, SandboxId id, EndReason reason, Instant now) {
    return handle
            .createUpdate(
                "UPDATE sandboxes SET status = 'deleting', end_reason = :reason, updated_at = :now"
                    + " WHERE id = :id AND "
                    + VISIBLE)
            .bind("id", id.value())
            .bind("reason", reason.storedName())
            .bind("now", now.toEpochMilli())
            .execute()
        == 1;
  }

  /** As {@link #beginDeletion}, but only if the timeout has really come; a renewal wins. */
  static boolean beginExpiry(Handle handle, SandboxId id, Instant now) {
    return handle
            .createUpdate(
                "UPDATE sandboxes SET status = 'deleting', end_reason = 'expired', updated_at ="
                    + " :now WHERE id = :id AND expires_at <= :now AND "
                    + CLOCK_RUNS)
            .bind("id", id.value())
            .bind("now", now.toEpochMilli())
            .execute()
        == 1;
  }

  /** deleting → deleted: leaves a tombstone without anything the user gave. */
  static int finishDeletion(Handle handle, SandboxId id, Instant now) {
    return handle
        .createUpdate(
            "UPDATE sandboxes SET status = 'deleted', agent_port = NULL, public_host = NULL,"
                + " environment = '{}', metadata = '{}', ended_at = :now, updated_at = :now WHERE"
                + " id = :id AND status = 'deleting'")
        .bind("id", id.value())
        .bind("now", now.toEpochMilli())
        .execute();
  }

  static List<SandboxRecord> expired(Handle handle, Instant now) {
    return handle
        .createQuery("SELECT * FROM sandboxes WHERE expires_at <= :now AND " + CLOCK_RUNS)
        .bind("now", now.toEpochMilli())
        .map(SandboxRows::map)
        .list();
  }

  /** When the next timeout comes, also where it came already. */
  static Optional<Instant> nextExpiry(Handle handle) {
    return handle
        .createQuery("SELECT MIN(expires_at) AS next FROM sandboxes WHERE " + CLOCK_RUNS)
        .map((row, _) -> instant(row, "next"))
        .one();
  }

  static int removeTombstones(Handle handle, Instant endedBefore) {
    return handle
        .createUpdate("DELETE FROM sandboxes WHERE status = 'deleted' AND ended_at < :before")
        .bind("before", endedBefore.toEpochMilli())
        .execute();
  }

  private static SandboxRecord map(ResultSet row, StatementContext context) throws SQLException {
    return new SandboxRecord(
        new SandboxId(row.getString("id")),
        row.getLong("organization_id"),
        SandboxStatus.ofWireName(row.getString("status")).orElseThrow(),
        row.getString("template_id"),
        row.getString("template_name"),
        row.getString("template_digest"),
        row.getString("node_id"),
        row.getString("region"),
        new Resources(
            row.getInt("vcpus"),
            row.getInt("memory_mib"),
            row.getInt("disk_mib"),
            row.getInt("processes")),
        row.getBoolean("internet_access"),
        Optional.ofNullable(row.getString("isolation")),
        JSON.readValue(row.getString("environment"), STRINGS),
        row.getString("metadata"),
        row.getInt("agent_port"),
        Optional.ofNullable(row.getString("public_host")),
        number(row, "timeout_seconds"),
        instant(row, "expires_at"),
        Instant.ofEpochMilli(row.getLong("created_at")),
        instant(row, "started_at"),
        instant(row, "ended_at"),
        Optional.ofNullable(row.getString("end_reason")).map(EndReason::ofStoredName),
        Instant.ofEpochMilli(row.getLong("updated_at")));
  }

  private static OptionalLong number(ResultSet row, String column) throws SQLException {
    long value = row.getLong(column);
    return row.wasNull() ? OptionalLong.empty() : OptionalLong.of(value);
  }

  private static Optional<Instant> instant(ResultSet row, String column) throws SQLException {
    long value = row.getLong(column);
    return row.wasNull() ? Optional.empty() : Optional.of(Instant.ofEpochMilli(value));
  }

  private static OptionalLong millis(Optional<Instant> instant) {
    return instant
        .map(value -> OptionalLong.of(value.toEpochMilli()))
        .orElseGet(OptionalLong::empty);
  }
}
