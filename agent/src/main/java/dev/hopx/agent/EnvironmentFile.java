package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.http.Json;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/**
 * A sandbox's variables on the host's disk, so that they outlive the server. Only the server's user
 * may read them; a crash leaves the old set or the new one.
 */
final class EnvironmentFile {
  private static final Logger log = LoggerFactory.getLogger(EnvironmentFile.class);

  private static final String VARIABLES = "variables";

  private final Path file;

  EnvironmentFile(Path directory) {
    file = directory.resolve("env.json");
  }

  /** What was saved last; empty when nothing was yet. */
  Optional<Map<String, String>> load() {
    try {
      JsonNode saved = Json.mapper().readTree(Files.readAllBytes(file)).path(VARIABLES);
      Map<String, String> variables = new LinkedHashMap<>();
      for (Map.Entry<String, JsonNode> entry : saved.properties()) {
        variables.put(entry.getKey(), entry.getValue().stringValue());
      }
      return Optional.of(variables);
    } catch (NoSuchFileException fresh) {
      return Optional.empty();
    } catch (JacksonException broken) {
      // Its text may hold values: only the place is logged.
      log.error("{} cannot be read; the sandbox starts with its creation's variables", file);
      return Optional.empty();
    } catch (IOException failure) {
      throw new UncheckedIOException("Cannot read " + file, failure);
    }
  }

  /**
   * @throws ApiException {@code SERVICE_UNAVAILABLE} when the host's disk takes nothing more
   */
  void save(Map<String, String> variables) {
    byte[] bytes = Json.mapper().writeValueAsBytes(Map.of(VARIABLES, variables));
    try {
      Path next =
          Files.createTempFile(
              file.getParent(),
              "env",
              ".tmp",
              PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
      try {
        try (FileChannel channel = FileChannel.open(next, StandardOpenOption.WRITE)) {
          ByteBuffer buffer = ByteBuffer.wrap(bytes);
          while (buffer.hasRemaining()) {
            channel.write(buffer);
          }
          channel.force(true);
        }
        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
      } finally {
        Files.deleteIfExists(next);
      }
    } catch (IOException failure) {
      throw new ApiException(
          ErrorCode.SERVICE_UNAVAILABLE,
          "The variables cannot be saved; is the server's disk full? Nothing was changed",
          Map.of(),
          failure);
    }
  }
}
