package dev.hopx.agent;

import java.time.Duration;
import java.util.Map;

/**
 * What all ways of running have in common.
 *
 * @param environment of this run only
 */
record RunRequest(GuestPath workingDirectory, Map<String, String> environment, Duration timeout) {
  /** Reads {@code workdir} or {@code working_dir}, {@code env} and {@code timeout}. */
  static RunRequest of(RequestBody body, Duration standardTimeout) {
    String directory = body.text("workdir", "working_dir").orElse("");
    return new RunRequest(
        GuestPath.parse(directory.isEmpty() ? GuestPath.WORKSPACE : directory),
        body.variables("env"),
        body.timeout(standardTimeout));
  }
}
