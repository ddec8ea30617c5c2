package dev.hopx.guest;

import java.util.List;

/** What SPAWN carries. */
record SpawnRequest(
    int flags,
    int uid,
    int gid,
    int columns,
    int rows,
    int mask,
    String tag,
    String directory,
    List<Limit> limits,
    List<String> arguments,
    List<String> variables) {
  static final int STDIN = 1;
  static final int PTY = 2;
  static final int HOLD = 4;
  static final int KEEP = 8;
  static final int MERGE = 16;

  record Limit(int resource, long soft, long hard) {}

  static SpawnRequest of(String... arguments) {
    return new SpawnRequest(
        0,
        0,
        0,
        80,
        24,
        0022,
        "",
        "/",
        List.of(),
        List.of(arguments),
        List.of("PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C"));
  }

  static SpawnRequest shell(String script) {
    return of("sh", "-c", script);
  }

  SpawnRequest with(int moreFlags) {
    return new SpawnRequest(
        flags | moreFlags,
        uid,
        gid,
        columns,
        rows,
        mask,
        tag,
        directory,
        limits,
        arguments,
        variables);
  }

  SpawnRequest as(int newUid, int newGid) {
    return new SpawnRequest(
        flags, newUid, newGid, columns, rows, mask, tag, directory, limits, arguments, variables);
  }

  SpawnRequest in(String newDirectory) {
    return new SpawnRequest(
        flags, uid, gid, columns, rows, mask, tag, newDirectory, limits, arguments, variables);
  }

  SpawnRequest tagged(String newTag) {
    return new SpawnRequest(
        flags, uid, gid, columns, rows, mask, newTag, directory, limits, arguments, variables);
  }

  SpawnRequest masked(int newMask) {
    return new SpawnRequest(
        flags, uid, gid, columns, rows, newMask, tag, directory, limits, arguments, variables);
  }

  SpawnRequest limited(Limit... newLimits) {
    return new SpawnRequest(
        flags,
        uid,
        gid,
        columns,
        rows,
        mask,
        tag,
        directory,
        List.of(newLimits),
        arguments,
        variables);
  }

  SpawnRequest environment(String... newVariables) {
    return new SpawnRequest(
        flags,
        uid,
        gid,
        columns,
        rows,
        mask,
        tag,
        directory,
        limits,
        arguments,
        List.of(newVariables));
  }

  byte[] toPayload() {
    Payload payload =
        new Payload()
            .u32(flags)
            .u32(uid)
            .u32(gid)
            .u16(columns)
            .u16(rows)
            .u32(mask)
            .text(tag)
            .text(directory)
            .u32(limits.size());
    for (Limit limit : limits) {
      payload.u32(limit.resource()).u64(limit.soft()).u64(limit.hard());
    }
    return payload.texts(arguments).texts(variables).toBytes();
  }
}
