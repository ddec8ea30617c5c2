package dev.hopx.node;

import static java.util.Objects.requireNonNull;

import java.util.regex.Pattern;

/**
 * The link between a sandbox and the host: {@code eth0} inside has {@code guestAddress/32} and its
 * default route over the gateway's address, which every host end has.
 *
 * @param hostName name of the host's end, 1 to 15 letters, digits, dots, hyphens or underscores,
 *     unique on the host
 * @param guestAddress IPv4 address, dotted
 * @param gateway IPv4 address, dotted
 * @param mtu bytes, 68 to 65,535
 */
record Veth(String hostName, String guestAddress, String gateway, int mtu) {
  static final int MINIMUM_MTU = 68;
  static final int MAXIMUM_MTU = 65_535;
  static final int MAXIMUM_NAME = 15;

  private static final Pattern NAME =
      Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0," + (MAXIMUM_NAME - 1) + "}");
  private static final Pattern ADDRESS = Pattern.compile("[0-9]{1,3}(\\.[0-9]{1,3}){3}");

  Veth {
    requireName(hostName);
    requireAddress(guestAddress);
    requireAddress(gateway);
    if (mtu < MINIMUM_MTU || mtu > MAXIMUM_MTU) {
      throw new IllegalArgumentException(
          "MTU must be %d to %d, not %d".formatted(MINIMUM_MTU, MAXIMUM_MTU, mtu));
    }
  }

  static void requireName(String name) {
    requireNonNull(name, "name is null");
    if (!NAME.matcher(name).matches()) {
      throw new IllegalArgumentException("Not a name for a network link: " + name);
    }
  }

  private static void requireAddress(String address) {
    requireNonNull(address, "address is null");
    if (!ADDRESS.matcher(address).matches()) {
      throw new IllegalArgumentException("Not an IPv4 address: " + address);
    }
  }
}
