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
      throw switch (failure.kind()) {
        case OUTSIDE_ROOTS, NOT_FOUND ->
            invalid(
                directory,
                "does not exist and can only be made below " + String.join(", ", session.roots()),
                failure);
        case NOT_A_DIRECTORY, ALREADY_EXISTS -> invalid(directory, "is not a directory", failure);
        default -> GuestFailures.about(directory, ErrorCode.DIRECTORY_NOT_FOUND, failure);
      };
    }
  }

  private static boolean isDirectory(AgentSession session, GuestPath directory) {
    try {
      return session.allFiles().stat(directory.value(), true).kind() == FileStat.Kind.DIRECTORY;
    } catch (GuestException failure) {
      if (failure.kind() == GuestException.Kind.NOT_FOUND
          || failure.kind() == GuestException.Kind.NOT_A_DIRECTORY) {
        return false;
      }
      throw failure;
    }
  }

  private static ApiException invalid(GuestPath directory, String why, GuestException cause) {
    return new ApiException(
        ErrorCode.INVALID_REQUEST,
        "Invalid workdir: " + directory.value() + " " + why,
        Map.of("field", "workdir", "path", directory.value()),
        cause);
  }
}
