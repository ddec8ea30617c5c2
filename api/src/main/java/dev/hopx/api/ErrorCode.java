package dev.hopx.api;

/**
 * Every failure that can reach the wire: status, code and the text used when nothing more precise
 * is known. Sources: contract §1.6, decisions 2, 3, 11.
 */
public enum ErrorCode {
  // Requests
  INVALID_REQUEST(400, "Invalid request"),
  INVALID_JSON(400, "The body is not valid JSON"),
  MISSING_PARAMETER(400, "A required parameter is missing"),
  INVALID_PATH(400, "The path is not valid"),
  METHOD_NOT_ALLOWED(405, "Method not allowed"),
  PAYLOAD_TOO_LARGE(413, "The body is too large"),
  UNSUPPORTED_MEDIA_TYPE(415, "Content type not supported"),

  // Who asks
  AUTHENTICATION_REQUIRED(401, "An API key is required"),
  INVALID_TOKEN(401, "The key or token is not valid"),
  INSUFFICIENT_PERMISSIONS(403, "Not permitted"),

  // Things
  RESOURCE_NOT_FOUND(404, "Not found"),
  SANDBOX_NOT_FOUND(404, "Sandbox not found"),
  SANDBOX_EXPIRED(410, "Sandbox expired"),
  SANDBOX_PAUSED(409, "Sandbox is paused"),
  SANDBOX_STOPPED(409, "Sandbox is stopped"),
  CONFLICT(409, "Conflict with the present state"),
  RESOURCE_LIMIT_ERROR(429, "Limit reached"),
  RATE_LIMIT_EXCEEDED(429, "Rate limit exceeded"),

  // The agent
  FILE_NOT_FOUND(404, "File not found"),
  DIRECTORY_NOT_FOUND(404, "Directory not found"),
  PATH_NOT_ALLOWED(403, "Path not allowed"),
  PERMISSION_DENIED(403, "Permission denied"),
  FILE_ALREADY_EXISTS(409, "File already exists"),
  IS_DIRECTORY(400, "The path is a directory"),
  NOT_A_DIRECTORY(400, "The path is not a directory"),
  NOT_A_REGULAR_FILE(400, "The path is not a regular file"),
  RANGE_NOT_SATISFIABLE(416, "The file has no bytes in this range"),
  DISK_FULL(507, "No space left on the sandbox's disk"),
  FILE_OPERATION_FAILED(400, "File operation failed"),
  PROCESS_NOT_FOUND(404, "Process not found"),
  DESKTOP_NOT_AVAILABLE(404, "This template has no desktop"),

  // The platform's own faults: nothing was run or created
  INTERNAL_ERROR(500, "Internal error"),
  SERVICE_UNAVAILABLE(503, "Service unavailable");

  private final int status;
  private final String text;

  ErrorCode(int status, String text) {
    this.status = status;
    this.text = text;
  }

  /** HTTP status, 400 to 599. */
  public int status() {
    return status;
  }

  public String text() {
    return text;
  }
}
