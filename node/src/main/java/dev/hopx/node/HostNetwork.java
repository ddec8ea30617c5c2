package dev.hopx.node;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** What the node needs of the host's own network. */
final class HostNetwork {
  /** Address of every sandbox's gateway: link-local, and never seen beyond the link. */
  static final String GATEWAY = "169.254.1.1";

  static final int DEFAULT_MTU = 1500;

  static final int FEWEST_CONNECTIONS = 512;
  static final int MOST_CONNECTIONS = 4096;

  /** Sandboxes that can take their whole share at a time. */
  private static final int CONNECTION_PARTS = 64;

  /** For ten thousand sandboxes: no collection below, some above, the end. */
  private static final int[] NEIGHBOUR_THRESHOLDS = {4096, 16_384, 32_768};

  private static final int MAX_NUMBER_BYTES = 64;
  private static final Path KERNEL_PARAMETERS = Path.of("/proc/sys");
  private static final Path CONNECTIONS = Path.of("/proc/sys/net/netfilter/nf_conntrack_max");
  private static final Path LINKS = Path.of("/sys/class/net");
  private static final Path FORWARDING = Path.of("/proc/sys/net/ipv4/ip_forward");
  private static final Path ROUTES = Path.of("/proc/net/route");

  /** Columns of the route table. */
  private static final int LINK = 0;

  private static final int DESTINATION = 1;
  private static final int MASK = 7;

  private HostNetwork() {}

  static void enableForwarding() {
    try {
      if (!Files.readString(FORWARDING).strip().equals("1")) {
        Files.writeString(FORWARDING, "1");
      }
    } catch (IOException e) {
      throw new NodeException(
          "Cannot switch on IPv4 forwarding, without which sandboxes have no internet;"
              + " run: sysctl -w net.ipv4.ip_forward=1",
          e);
    }
  }

  /**
   * Connections one sandbox may have at a time: a part of the host's table, so that one that opens
   * all it can takes none from the others.
   */
  static int connectionsOfOne() {
    try {
      return connectionsOfOne(readNumber(CONNECTIONS));
    } catch (IOException _) {
      // The table does not exist before the first rule that needs it; every kernel's is larger.
      return FEWEST_CONNECTIONS;
    }
  }

  static int connectionsOfOne(long table) {
    return Math.clamp(table / CONNECTION_PARTS, FEWEST_CONNECTIONS, MOST_CONNECTIONS);
  }

  /**
   * Every sandbox needs two entries in the kernel's table of neighbours, which is one for all
   * network namespaces and by default ends at 1,024. Larger values of the operator's are left.
   */
  static void allowNeighbours(HostHelper host) {
    for (int i = NEIGHBOUR_THRESHOLDS.length; i >= 1; i--) {
      String name = "net/ipv4/neigh/default/gc_thresh" + i;
      try {
        long present = readNumber(KERNEL_PARAMETERS.resolve(name));
        if (present < NEIGHBOUR_THRESHOLDS[i - 1]) {
          host.setKernelParameter(name, Integer.toString(NEIGHBOUR_THRESHOLDS[i - 1]));
        }
      } catch (IOException e) {
        throw new NodeException("Cannot read the kernel parameter " + name, e);
      }
    }
  }

  /** In one read: the kernel gives a number's second part to nobody. */
  private static long readNumber(Path parameter) throws IOException {
    try (InputStream input = Files.newInputStream(parameter)) {
      return Long.parseLong(
          new String(input.readNBytes(MAX_NUMBER_BYTES), StandardCharsets.US_ASCII).strip());
    }
  }

  /** Names of the links that begin with {@code prefix}. */
  static List<String> links(String prefix) {
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(LINKS)) {
      List<String> names = new ArrayList<>();
      for (Path entry : entries) {
        String name = entry.getFileName().toString();
        if (name.startsWith(prefix)) {
          names.add(name);
        }
      }
      return names;
    } catch (IOException e) {
      throw new NodeException("Cannot list the network links in " + LINKS, e);
    }
  }

  static boolean hasLink(String name) {
    return Files.exists(LINKS.resolve(name));
  }

  /** True when the host has a route to exactly this IPv4 address. */
  static boolean hasRoute(String address) {
    String[] octets = address.split("\\.");
    StringBuilder destination = new StringBuilder();
    // The kernel prints a number of this machine's byte order.
    for (int i = 0; i < octets.length; i++) {
      int place = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? octets.length - 1 - i : i;
      destination.append("%02X".formatted(Integer.parseInt(octets[place])));
    }
    return routes().stream()
        .anyMatch(
            fields ->
                fields[DESTINATION].contentEquals(destination) && fields[MASK].equals("FFFFFFFF"));
  }

  private static List<String[]> routes() {
    try {
      return Files.readAllLines(ROUTES).stream()
          .map(line -> line.split("\\s+"))
          .filter(fields -> fields.length > MASK)
          .toList();
    } catch (IOException e) {
      throw new NodeException("Cannot read the host's routes", e);
    }
  }

  /** MTU of the link the default route leaves by, so that packets of sandboxes fit it. */
  static int mtu() {
    for (String[] fields : routes()) {
      if (fields[DESTINATION].equals("00000000") && fields[MASK].equals("00000000")) {
        Path mtu = LINKS.resolve(fields[LINK]).resolve("mtu");
        try {
          return Math.clamp(
              Integer.parseInt(Files.readString(mtu).strip()), Veth.MINIMUM_MTU, Veth.MAXIMUM_MTU);
        } catch (IOException e) {
          throw new NodeException("Cannot read " + mtu, e);
        }
      }
    }
    return DEFAULT_MTU;
  }
}
