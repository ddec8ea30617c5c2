package dev.hopx.node;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** What the node needs of the host's own network. */
final class HostNetwork {
  /** Address of every sandbox's gateway: link-local, and never seen beyond the link. */
  static final String GATEWAY = "169.254.1.1";

  static final int DEFAULT_MTU = 1500;

  private static final Path LINKS = Path.of("/sys/class/net");
  private static final Path FORWARDING = Path.of("/proc/sys/net/ipv4/ip_forward");
  private static final Path ROUTES = Path.of("/proc/net/route");

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

  /** MTU of the link the default route leaves by, so that packets of sandboxes fit it. */
  static int mtu() {
    try {
      for (String line : Files.readAllLines(ROUTES)) {
        String[] fields = line.split("\\s+");
        if (fields.length > 7 && fields[1].equals("00000000") && fields[7].equals("00000000")) {
          int mtu =
              Integer.parseInt(Files.readString(LINKS.resolve(fields[0]).resolve("mtu")).strip());
          return Math.clamp(mtu, Veth.MINIMUM_MTU, Veth.MAXIMUM_MTU);
        }
      }
      return DEFAULT_MTU;
    } catch (NoSuchFileException _) {
      return DEFAULT_MTU;
    } catch (IOException e) {
      throw new NodeException("Cannot read the host's routes", e);
    }
  }
}
