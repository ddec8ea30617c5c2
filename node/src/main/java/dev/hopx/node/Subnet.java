package dev.hopx.node;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** An IPv4 network. */
record Subnet(int network, int prefix) {
  static final int SHORTEST_PREFIX = 8;
  static final int LONGEST_PREFIX = 30;

  private static final Pattern FORM =
      Pattern.compile("(\\d{1,3})\\.(\\d{1,3})\\.(\\d{1,3})\\.(\\d{1,3})/(\\d{1,2})");

  static Subnet parse(String text) {
    Matcher matcher = FORM.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "sandbox-subnet must look like " + NodeOptions.DEFAULT_SUBNET + ": " + text);
    }
    int address = 0;
    for (int group = 1; group <= 4; group++) {
      int octet = Integer.parseInt(matcher.group(group));
      if (octet > 255) {
        throw new IllegalArgumentException("sandbox-subnet has an octet above 255: " + text);
      }
      address = (address << 8) | octet;
    }
    int prefix = Integer.parseInt(matcher.group(5));
    if (prefix < SHORTEST_PREFIX || prefix > LONGEST_PREFIX) {
      throw new IllegalArgumentException("sandbox-subnet must be a /8 to /30: " + text);
    }
    if ((address & ((1 << (32 - prefix)) - 1)) != 0) {
      throw new IllegalArgumentException("sandbox-subnet has bits set beyond its prefix: " + text);
    }
    return new Subnet(address, prefix);
  }

  /** Addresses sandboxes may have: all but the first and the last. */
  int hosts() {
    return (1 << (32 - prefix)) - 2;
  }

  /** The address at {@code index}, 0 to {@code hosts() - 1}. */
  String host(int index) {
    if (index < 0 || index >= hosts()) {
      throw new IllegalArgumentException("No address " + index + " in " + this);
    }
    return text(network + 1 + index);
  }

  @Override
  public String toString() {
    return text(network) + "/" + prefix;
  }

  private static String text(int address) {
    return (address >>> 24)
        + "."
        + ((address >>> 16) & 255)
        + "."
        + ((address >>> 8) & 255)
        + "."
        + (address & 255);
  }
}
