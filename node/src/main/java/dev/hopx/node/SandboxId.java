package dev.hopx.node;

import java.util.regex.Pattern;

/**
 * Id of a sandbox: 18 lower-case letters and digits that start with digits, so that it is a DNS
 * label without a hyphen (decision 4). Validated once, here.
 */
public record SandboxId(String value) {
  private static final Pattern FORM = Pattern.compile("[0-9][0-9a-z]{7,31}");

  public SandboxId {
    if (!FORM.matcher(value).matches()) {
      throw new IllegalArgumentException("Not a sandbox id: " + value);
    }
  }

  public static boolean isValid(String value) {
    return FORM.matcher(value).matches();
  }

  @Override
  public String toString() {
    return value;
  }
}
