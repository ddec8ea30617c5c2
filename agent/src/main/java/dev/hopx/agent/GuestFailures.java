package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.channel.GuestException;
import java.util.Map;

/** Says in the API's vocabulary why a file operation failed. */
final class GuestFailures {
  private GuestFailures() {}

  /**
   * @param missing the code for something that does not exist: {@code FILE_NOT_FOUND}, {@code
   *     DIRECTORY_NOT_FOUND}, or {@code PATH_NOT_ALLOWED} where missing parents would have been
   *     made, so that only a path outside of the roots can be missing
   * @return what to throw; the failure itself when it is not about the path
   */
  static RuntimeException about(GuestPath path, ErrorCode missing, GuestException failure) {
    return switch (failure.kind()) {
      case NOT_FOUND -> error(missing, missing.text(), path, failure);
      case OUTSIDE_ROOTS ->
          error(ErrorCode.PATH_NOT_ALLOWED, ErrorCode.PATH_NOT_ALLOWED.text(), path, failure);
      case PERMISSION_DENIED ->
          error(ErrorCode.PERMISSION_DENIED, "Permission denied", path, failure);
      case ALREADY_EXISTS ->
          error(ErrorCode.FILE_ALREADY_EXISTS, "File already exists", path, failure);
      case IS_A_DIRECTORY -> error(ErrorCode.IS_DIRECTORY, "Is a directory", path, failure);
      case NOT_A_DIRECTORY -> error(ErrorCode.NOT_A_DIRECTORY, "Not a directory", path, failure);
      case NOT_A_REGULAR_FILE ->
          error(ErrorCode.NOT_A_REGULAR_FILE, "Not a regular file", path, failure);
      case DISK_FULL ->
          error(ErrorCode.DISK_FULL, "No space left on the disk while writing", path, failure);
      case INVALID_PATH -> error(ErrorCode.INVALID_PATH, "Invalid path", path, failure);
      case DIRECTORY_NOT_EMPTY ->
          error(ErrorCode.FILE_OPERATION_FAILED, "Directory not empty", path, failure);
      case TOO_LARGE, IO ->
          error(
              ErrorCode.FILE_OPERATION_FAILED,
              "File operation failed (error number %d)".formatted(failure.errno()),
              path,
              failure);
      case NOT_EXECUTABLE, UNREACHABLE, EXHAUSTED, LOST, PROTOCOL -> failure;
    };
  }

  private static ApiException error(
      ErrorCode code, String text, GuestPath path, GuestException cause) {
    return new ApiException(code, text + ": " + path.value(), Map.of("path", path.value()), cause);
  }
}
