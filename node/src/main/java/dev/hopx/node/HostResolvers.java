package dev.hopx.node;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The name servers of the host as sandboxes can use them: IPv4 only, none on loopback.
 *
 * @param servers addresses, in order
 * @param search lines of resolv.conf besides the servers that are worth keeping
 */
record HostResolvers(List<String> servers, List<String> search) {
  /** More are ignored by the C library. */
  static final int MAX_SERVERS = 3;

  private static final Path HOST = Path.of("/etc/resolv.conf");

  /** What systemd-resolved, itself on loopback, asks. */
  private static final Path BEHIND_RESOLVED = Path.of("/run/systemd/resolve/resolv.conf");

  private static final Pattern IPV4 = Pattern.compile("[0-9]{1,3}(\\.[0-9]{1,3}){3}");
  private static final Pattern SEARCH = Pattern.compile("(search|domain)\\s+[A-Za-z0-9._\\s-]+");

  static HostResolvers read() {
    return read(HOST, BEHIND_RESOLVED);
  }

  static HostResolvers read(Path host, Path behindLoopback) {
    HostResolvers resolvers = parse(lines(host));
    if (resolvers.servers().isEmpty()) {
      HostResolvers behind = parse(lines(behindLoopback));
      return new HostResolvers(behind.servers(), resolvers.search());
    }
    return resolvers;
  }

  /** The guest's /etc/resolv.conf. */
  String file() {
    StringBuilder text = new StringBuilder();
    servers.forEach(server -> text.append("nameserver ").append(server).append('\n'));
    search.forEach(line -> text.append(line).append('\n'));
    return text.toString();
  }

  private static HostResolvers parse(List<String> lines) {
    List<String> servers = new ArrayList<>();
    List<String> search = new ArrayList<>();
    for (String line : lines) {
      String text = line.strip();
      String[] words = text.split("\\s+");
      if (words.length >= 2 && words[0].equals("nameserver") && isUsable(words[1])) {
        servers.add(words[1]);
      } else if (SEARCH.matcher(text).matches()) {
        search.add(text);
      }
    }
    return new HostResolvers(
        List.copyOf(servers.subList(0, Math.min(servers.size(), MAX_SERVERS))),
        List.copyOf(search));
  }

  private static boolean isUsable(String server) {
    return IPV4.matcher(server).matches()
        && !server.startsWith("127.")
        && !server.startsWith("0.")
        && List.of(server.split("\\.")).stream().allMatch(octet -> Integer.parseInt(octet) <= 255);
  }

  private static List<String> lines(Path file) {
    try {
      return Files.exists(file) ? Files.readAllLines(file, StandardCharsets.ISO_8859_1) : List.of();
    } catch (IOException e) {
      throw new NodeException("Cannot read " + file, e);
    }
  }
}
