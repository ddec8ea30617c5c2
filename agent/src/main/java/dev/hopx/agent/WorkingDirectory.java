package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.channel.FileStat;
import dev.hopx.channel.GuestException;
import dev.hopx.channel.GuestFiles;
import java.util.Map;

/** Makes a missing working directory where the caller may make directories. */
final class WorkingDirectory {
  private static final int MODE = 0755;

  private WorkingDirectory() {}

  /**
   * @return true when it was made, false when it was there
   * @throws ApiException 400 when it is neither there nor below a root, or is no directory
   */
  static boolean ensure(AgentSession session, GuestPath directory) {
    if (isDirectory(session, directory)) {
      return false;
    }
    try {
      // A root itself may have been removed; whoever may write below it may have it back.
      GuestFiles files =
          session.roots().contains(directory.value()) ? session.allFiles() : session.files();
      files.makeDirectory(directory.value(), MODE, true);
      return true;
    } catch (GuestException failure) {
      if (failure.kind() == GuestException.Kind.OUTSIDE_ROOTS
          || failure.kind() == GuestException.Kind.NOT_FOUND) {
        throw invalid(
            directory,
            "does not exist and can only be made below " + String.join(", ", session.roots()));
      }
      throw refused(directory, failure);
    }
  }

  private static RuntimeException refused(GuestPath directory, GuestException failure) {
    return switch (failure.kind()) {
      case NOT_A_DIRECTORY, ALREADY_EXISTS -> invalid(directory, "is not a directory");
      case INVALID_PATH -> invalid(directory, "has too long a name or a loop of links");
      default -> GuestFailures.about(directory, ErrorCode.DIRECTORY_NOT_FOUND, failure);
    };
  }

  private static boolean isDirectory(AgentSession session, GuestPath directory) {
    FileStat.Kind kind;
    try {
      kind = session.allFiles().stat(directory.value(), true).kind();
    } catch (GuestException failure) {
      if (failure.kind() == GuestException.Kind.NOT_FOUND) {
        return false;
      }
      throw refused(directory, failure);
    }
    if (kind != FileStat.Kind.DIRECTORY) {
      throw invalid(directory, "is not a directory");
    }
    return true;
  }

  private static ApiException invalid(GuestPath directory, String why) {
    return new ApiException(
        ErrorCode.INVALID_REQUEST,
        "Invalid workdir: " + directory.value() + " " + why,
        Map.of("field", "workdir", "path", directory.value()));
  }
}
