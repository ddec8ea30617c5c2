package dev.hopx.control;

import dev.hopx.node.SandboxId;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The last sandbox of a page. It names a place in the order and not a count, so sandboxes that come
 * and go between two pages cause neither duplicates nor gaps (RAT-10).
 */
public record SandboxCursor(long createdAtMillis, String sandboxId) {
  private static final Pattern FORM = Pattern.compile("([0-9]{1,15}):(.{1,64})");

  static SandboxCursor behind(SandboxRecord sandbox) {
    return new SandboxCursor(sandbox.createdAt().toEpochMilli(), sandbox.id().value());
  }

  /** Opaque to clients. */
  String encode() {
    return Base64.getUrlEncoder()
        .withoutPadding()
        .encodeToString((createdAtMillis + ":" + sandboxId).getBytes(StandardCharsets.US_ASCII));
  }

  static Optional<SandboxCursor> decode(String text) {
    byte[] bytes;
    try {
      bytes = Base64.getUrlDecoder().decode(text);
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
    var form = FORM.matcher(new String(bytes, StandardCharsets.US_ASCII));
    if (!form.matches() || !SandboxId.isValid(form.group(2))) {
      return Optional.empty();
    }
    return Optional.of(new SandboxCursor(Long.parseLong(form.group(1)), form.group(2)));
  }
}
