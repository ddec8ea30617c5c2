package dev.hopx.control;

import java.util.Set;
import java.util.regex.Pattern;

/** Names of regions; this server has one, the documented others are recorded (decision 25). */
final class Regions {
  private static final Set<String> DOCUMENTED =
      Set.of("us-east", "eu-west", "us-east-1", "eu-west-1", "ap-southeast-1", "local");

  private static final Pattern FORM = Pattern.compile("[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?");

  private final String local;

  Regions(String local) {
    this.local = local;
  }

  static boolean isWellFormed(String name) {
    return FORM.matcher(name).matches();
  }

  /** Region of a sandbox that asked for none. */
  String local() {
    return local;
  }

  boolean isKnown(String name) {
    return name.equals(local) || DOCUMENTED.contains(name);
  }
}
