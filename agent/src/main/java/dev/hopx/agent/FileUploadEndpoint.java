package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.channel.FileStat;
import dev.hopx.channel.GuestException;
import dev.hopx.channel.GuestFiles;
import dev.hopx.channel.GuestFiles.GuestFileContent;
import dev.hopx.channel.GuestFiles.GuestFileSink;
import dev.hopx.http.HttpExchange;
import dev.hopx.http.MultipartReader;
import dev.hopx.http.RouteHandler;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code POST /files/upload}: a multipart body of any size with the parts {@code file}, {@code
 * path}, and optionally {@code mode} and {@code overwrite}, in any order. A file that comes before
 * its path is kept in memory while it is small, else in a file of the guest, so that the host's
 * memory stays flat.
 */
final class FileUploadEndpoint implements RouteHandler<AgentSession> {
  /** Bytes of a file kept in memory until its path is known. */
  static final int MAX_IN_MEMORY = 1 << 20;

  /** Bytes of a part that is no file. */
  static final int MAX_TEXT_PART = 64 << 10;

  private static final Logger log = LoggerFactory.getLogger(FileUploadEndpoint.class);

  @Override
  public void handle(HttpExchange exchange, AgentSession session) throws IOException {
    try (Upload upload = new Upload(session)) {
      exchange.queryParameter("path").ifPresent(path -> upload.fields.put("path", path));
      MultipartReader parts = exchange.multipart();
      for (Optional<MultipartReader.Part> part = parts.next();
          part.isPresent();
          part = parts.next()) {
        upload.take(part.get());
      }
      upload.finish();
      FileReply.send(exchange, upload.target(), upload.size, FileWriteEndpoint.WRITTEN);
    }
  }

  /** One upload; owns the spool file in the guest. */
  private static final class Upload implements AutoCloseable {
    private final GuestFiles files;
    private final Map<String, String> fields = new HashMap<>();
    private Optional<String> fileName = Optional.empty();
    private Optional<byte[]> inMemory = Optional.empty();
    private Optional<GuestPath> spool = Optional.empty();
    private boolean hasFile;
    private boolean placed;
    private long size;

    Upload(AgentSession session) {
      files = session.files();
    }

    void take(MultipartReader.Part part) throws IOException {
      boolean isFile = part.name().equals("file") || part.fileName().isPresent();
      if (!isFile) {
        byte[] text = part.content().readNBytes(MAX_TEXT_PART + 1);
        if (text.length > MAX_TEXT_PART) {
          throw ApiException.invalidField(
              part.name(), "must be at most " + MAX_TEXT_PART + " bytes");
        }
        fields.put(part.name(), new String(text, StandardCharsets.UTF_8));
        return;
      }
      if (hasFile) {
        throw ApiException.invalidField("file", "only one file can be uploaded at a time");
      }
      hasFile = true;
      fileName = part.fileName();
      if (fields.containsKey("path") && !GuestPath.namesDirectory(fields.get("path"))) {
        place(part.content());
      } else {
        hold(part.content());
      }
    }

    private void hold(InputStream content) throws IOException {
      byte[] first = content.readNBytes(MAX_IN_MEMORY + 1);
      if (first.length <= MAX_IN_MEMORY) {
        inMemory = Optional.of(first);
        return;
      }
      GuestPath path =
          new GuestPath(GuestPath.TEMPORARY).child(".hopx-upload-" + UUID.randomUUID());
      try (GuestFileSink sink = files.write(path.value(), OptionalInt.empty(), true, true)) {
        GuestWrites.copy(new SequenceInputStream(new ByteArrayInputStream(first), content), sink);
        spool = Optional.of(path);
        sink.commit();
      } catch (GuestException failure) {
        throw GuestFailures.about(path, ErrorCode.PATH_NOT_ALLOWED, failure);
      }
    }

    void finish() throws IOException {
      if (!hasFile) {
        throw RequestBody.missing("file");
      }
      if (placed) {
        return;
      }
      GuestPath target = target();
      if (inMemory.isPresent()) {
        place(new ByteArrayInputStream(inMemory.get()));
      } else {
        move(spool.orElseThrow(), target);
      }
    }

    GuestPath target() {
      String path = fields.getOrDefault("path", "");
      if (path.isEmpty() && fileName.isEmpty()) {
        throw RequestBody.missing("path");
      }
      if (path.isEmpty()) {
        return GuestPath.parseFile(baseName());
      }
      return GuestPath.namesDirectory(path)
          ? GuestPath.parseFile(path + "/" + baseName())
          : GuestPath.parseFile(path);
    }

    private String baseName() {
      String name = fileName.orElse("");
      String base = name.substring(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1);
      if (base.isEmpty()) {
        throw RequestBody.missing("path");
      }
      return base;
    }

    private void place(InputStream content) throws IOException {
      GuestPath target = target();
      try (GuestFileSink sink = files.write(target.value(), mode(), true, !overwrite())) {
        GuestWrites.copy(content, sink);
        FileStat written = sink.commit();
        size = written.size();
        placed = true;
      } catch (GuestException failure) {
        throw GuestFailures.about(target, ErrorCode.PATH_NOT_ALLOWED, failure);
      }
    }

    /** Puts the spooled file in place: a copy inside the guest's disk through the host, flat. */
    private void move(GuestPath from, GuestPath target) throws IOException {
      try (GuestFileContent content = files.read(from.value(), 0, OptionalLong.empty())) {
        place(content.content());
      } catch (GuestException failure) {
        throw GuestFailures.about(target, ErrorCode.FILE_NOT_FOUND, failure);
      }
    }

    private OptionalInt mode() {
      return FileModes.parse(Optional.ofNullable(fields.get("mode")));
    }

    private boolean overwrite() {
      return !"false".equalsIgnoreCase(fields.getOrDefault("overwrite", "true"));
    }

    @Override
    public void close() {
      spool.ifPresent(
          path -> {
            try {
              files.remove(path.value(), false);
            } catch (GuestException failure) {
              log.debug("{} was not removed: {}", path.value(), failure.getMessage());
            }
          });
    }
  }
}
