package dev.hopx.agent;

import dev.hopx.api.ErrorCode;
import dev.hopx.channel.GuestException;
import dev.hopx.channel.GuestFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A directory of the guest in which one Go program is built. It is built from the run's working
 * directory, so that a go.mod there is used, and then takes the place of the shell that built it,
 * so that exit code and stderr are its own. Closing removes the directory.
 */
final class GoWorkspace implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(GoWorkspace.class);

  private static final String SOURCE = "main.go";
  private static final String BUILD_AND_RUN =
      "go build -o \"$1/program\" \"$1/" + SOURCE + "\" || exit $?; exec \"$1/program\"";

  private final GuestFiles files;
  private final GuestPath directory;

  private GoWorkspace(GuestFiles files, GuestPath directory) {
    this.files = files;
    this.directory = directory;
  }

  static GoWorkspace create(AgentSession session, String code) throws IOException {
    GuestPath directory = new GuestPath(GuestPath.TEMPORARY).child("hopx-go-" + UUID.randomUUID());
    GoWorkspace workspace = new GoWorkspace(session.allFiles(), directory);
    boolean written = false;
    try {
      workspace.write(code);
      written = true;
      return workspace;
    } catch (GuestException failure) {
      throw GuestFailures.about(directory, ErrorCode.DIRECTORY_NOT_FOUND, failure);
    } finally {
      if (!written) {
        workspace.close();
      }
    }
  }

  private void write(String code) throws IOException {
    try (GuestFiles.GuestFileSink sink =
        files.write(directory.child(SOURCE).value(), OptionalInt.of(0600), true, true)) {
      GuestWrites.write(sink, code.getBytes(StandardCharsets.UTF_8));
      sink.commit();
    }
  }

  Program program() {
    Pattern source =
        Pattern.compile("(?:[^\\s:\"]*/)?" + Pattern.quote(directory.name() + "/" + SOURCE));
    return new Program(
        List.of(List.of("/bin/sh", "-c", BUILD_AND_RUN, "sh", directory.value())),
        "go",
        Optional.empty(),
        // The caller knows the code, not where it was built.
        text -> source.matcher(text).replaceAll(Matcher.quoteReplacement("./" + SOURCE)));
  }

  @Override
  public void close() {
    try {
      files.remove(directory.value(), true);
    } catch (GuestException failure) {
      // With the sandbox gone there is nothing to remove; otherwise /tmp holds a stray directory.
      log.debug("{} was not removed: {}", directory.value(), failure.getMessage());
    }
  }
}
