package dev.hopx.template;

import java.util.regex.Pattern;

/**
 * Digest of a recipe.
 *
 * @param hexadecimal 64 lower-case digits of a SHA-256
 */
record TemplateDigest(String hexadecimal) {
  private static final Pattern HEXADECIMAL = Pattern.compile("[0-9a-f]{64}");

  TemplateDigest {
    if (!HEXADECIMAL.matcher(hexadecimal).matches()) {
      throw new IllegalArgumentException("Not a SHA-256 in hexadecimal: " + hexadecimal);
    }
  }

  /** Name of its directory in the store; no colon, for overlayfs separates layers by colons. */
  String directoryName() {
    return "sha256-" + hexadecimal;
  }

  @Override
  public String toString() {
    return "sha256:" + hexadecimal;
  }
}
