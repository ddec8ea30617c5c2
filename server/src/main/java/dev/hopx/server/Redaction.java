package dev.hopx.server;

import java.util.regex.Pattern;

/**
 * The last line of defence of the log: no code logs a key or token on purpose, but messages of
 * libraries and exceptions may quote what they were given.
 */
final class Redaction {
  private static final Pattern SECRETS =
      Pattern.compile(
          // API keys, tokens (JWT), and tokens in URLs
          "(hopx_live_[A-Za-z0-9]{12}\\.)[A-Za-z0-9_-]{20,}"
              + "|(eyJ)[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}"
              + "|([?&]token=)[^&\\s\"]+");

  private Redaction() {}

  static String apply(String text) {
    if (!text.contains("hopx_live_") && !text.contains("eyJ") && !text.contains("token=")) {
      return text;
    }
    return SECRETS
        .matcher(text)
        .replaceAll(
            match -> {
              for (int group = 1; group <= match.groupCount(); group++) {
                if (match.group(group) != null) {
                  return match.group(group).replace("$", "\\$") + "…";
                }
              }
              return "…";
            });
  }
}
