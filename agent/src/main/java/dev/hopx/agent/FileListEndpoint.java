package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.channel.FileStat;
import dev.hopx.channel.GuestException;
import dev.hopx.http.HttpExchange;
import dev.hopx.http.RouteHandler;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** {@code GET /files/list}: one level, sorted by name, in both dialects of field names. */
final class FileListEndpoint implements RouteHandler<AgentSession> {
  /** Entries; the sandbox decides how many there are, this how much memory they may take. */
  static final int MAX_ENTRIES = 200_000;

  @Override
  public void handle(HttpExchange exchange, AgentSession session) throws IOException {
    GuestPath path =
        GuestPath.parse(
            exchange
                .queryParameter("path")
                .filter(text -> !text.isEmpty())
                .orElse(GuestPath.WORKSPACE));
    List<FileStat> entries = new ArrayList<>();
    try {
      session.files().list(path.value(), entry -> add(entries, entry, path));
    } catch (GuestException failure) {
      throw GuestFailures.about(path, ErrorCode.DIRECTORY_NOT_FOUND, failure);
    }
    entries.sort(Comparator.comparing(FileStat::path));
    StreamedJson.send(
        exchange,
        json -> {
          json.writeArrayPropertyStart("files");
          for (FileStat entry : entries) {
            json.writePOJO(describe(path, entry));
          }
          json.writeEndArray();
          json.writeStringProperty("path", path.value());
          json.writeNumberProperty("count", entries.size());
        });
  }

  private static void add(List<FileStat> entries, FileStat entry, GuestPath path) {
    if (entries.size() >= MAX_ENTRIES) {
      throw new ApiException(
          ErrorCode.PAYLOAD_TOO_LARGE,
          "The directory has more than %d entries; use /commands/run with find: %s"
              .formatted(MAX_ENTRIES, path.value()),
          Map.of("path", path.value(), "limit", MAX_ENTRIES));
    }
    entries.add(entry);
  }

  static Map<String, Object> describe(GuestPath directory, FileStat entry) {
    boolean isDirectory = entry.kind() == FileStat.Kind.DIRECTORY;
    Map<String, Object> file = new LinkedHashMap<>();
    file.put("name", entry.path());
    file.put("path", directory.child(entry.path()).value());
    file.put("size", entry.size());
    file.put("is_directory", isDirectory);
    file.put("is_dir", isDirectory);
    file.put("is_file", entry.kind() == FileStat.Kind.FILE);
    file.put("is_symlink", entry.kind() == FileStat.Kind.LINK);
    file.put("permissions", FileModes.permissions(entry.kind(), entry.mode()));
    file.put("mode", FileModes.octal(entry.mode()));
    file.put("modified_time", entry.modified());
    file.put("modified", entry.modified());
    if (entry.kind() == FileStat.Kind.LINK) {
      file.put("link_target", entry.linkTarget());
    }
    return file;
  }
}
