package dev.hopx.node;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.hopx.channel.GuestConnection;
import dev.hopx.channel.GuestProcess;
import dev.hopx.channel.Spawn;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Whom a sandbox reaches, and who reaches it. */
final class SandboxNetworkTest {
  private static final int PORT = 8000;
  private static @Nullable NodeLab lab;
  private static @Nullable LocalSandbox one;
  private static @Nullable LocalSandbox other;

  @BeforeAll
  static void create() {
    lab = new NodeLab();
    one = (LocalSandbox) lab.create();
    other = (LocalSandbox) lab.create();
  }

  @AfterAll
  static void delete() {
    if (lab != null) {
      lab.close();
    }
  }

  private static LocalSandbox one() {
    return requireNonNull(one);
  }

  private static LocalSandbox other() {
    return requireNonNull(other);
  }

  private static NodeLab lab() {
    return requireNonNull(lab);
  }

  /** "connected", or the name of the error. */
  private static String connect(Sandbox sandbox, String host, int port) {
    String script =
        """
        import socket, errno
        try:
          socket.create_connection(("%s", %d), 3)
          print("connected")
        except OSError as e:
          print(errno.errorcode.get(e.errno, type(e).__name__))
        """
            .formatted(host, port);
    return NodeLab.run(sandbox, Duration.ofSeconds(30), "python3", "-c", script).output();
  }

  private static GuestProcess serve(Sandbox sandbox) throws InterruptedException {
    GuestProcess server =
        sandbox
            .guest()
            .start(
                Spawn.of(
                    List.of("python3", "-m", "http.server", Integer.toString(PORT)),
                    NodeLab.ENVIRONMENT,
                    "/workspace"));
    for (int i = 0; i < 100; i++) {
      if (connect(sandbox, "127.0.0.1", PORT).equals("connected")) {
        return server;
      }
      Thread.sleep(50);
    }
    throw new AssertionError("The server inside does not start");
  }

  @Test
  void sandboxesDoNotReachEachOther() throws Exception {
    try (GuestProcess _ = serve(other())) {
      assertThat(connect(other(), other().slot().address(), PORT)).isEqualTo("connected");
      assertThat(connect(one(), other().slot().address(), PORT)).isEqualTo("ECONNREFUSED");
      try (Socket socket = new Socket()) {
        socket.connect(new InetSocketAddress(other().slot().address(), PORT), 3000);
        assertThat(socket.isConnected()).as("the host reaches it").isTrue();
      }
      try (GuestConnection connection = other().guest().dial("127.0.0.1", PORT)) {
        connection.output().write("GET / HTTP/1.0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        assertThat(new String(connection.input().readNBytes(9), StandardCharsets.US_ASCII))
            .isEqualTo("HTTP/1.0 ");
      }
    }
  }

  @Test
  void theHostIsNotReached() throws Exception {
    try (ServerSocket server = new ServerSocket(0)) {
      int port = server.getLocalPort();
      assertThat(connect(one(), HostNetwork.GATEWAY, port)).isEqualTo("ECONNREFUSED");
      for (InetAddress address : hostAddresses()) {
        assertThat(connect(one(), address.getHostAddress(), port))
            .as("%s", address)
            .isEqualTo("ECONNREFUSED");
      }
    }
  }

  @Test
  void privateRangesAreRefusedAtOnce() {
    for (String address :
        List.of(
            "10.1.2.3",
            "100.64.1.1",
            "169.254.169.254",
            "172.16.1.1",
            "192.168.1.1",
            "240.0.0.1")) {
      assertThat(connect(one(), address, 80)).as(address).isEqualTo("ECONNREFUSED");
    }
  }

  @Test
  void thereIsNoIpv6() {
    assertThat(NodeLab.sh(one(), "cat /proc/net/if_inet6 2>/dev/null").output()).isEmpty();
    assertThat(connect(one(), "2001:db8::1", 80)).isNotEqualTo("connected");
  }

  @Test
  void withoutInternetThereIsNothingButLoopback() throws Exception {
    Sandbox sandbox = lab().node().create(lab().spec(NodeLab.SMALL, false));
    assertThat(NodeLab.sh(sandbox, "ls /sys/class/net").output()).isEqualTo("lo");
    assertThat(NodeLab.sh(sandbox, "cat /etc/resolv.conf").output()).isEmpty();
    assertThat(NodeLab.sh(sandbox, "tail -n +2 /proc/net/route").output()).isEmpty();
    assertThat(connect(sandbox, HostNetwork.GATEWAY, 53)).isEqualTo("ENETUNREACH");
    assertThat(connect(sandbox, "198.51.100.1", 80)).isEqualTo("ENETUNREACH");
    try (GuestProcess _ = serve(sandbox)) {
      assertThat(connect(sandbox, "localhost", PORT)).isEqualTo("connected");
    }
    lab().node().delete(sandbox.id());
  }

  /** With all capabilities in the namespaces, which nobody inside has. */
  @Test
  void foreignSourceAddressesAreDropped() throws Exception {
    String link = one().slot().link();
    String counters = lab().options().instance() + "c";
    ExternalCommand.run(
        "counting",
        List.of("nft", "-f", "-"),
        """
        table inet %s {
          chain seen {
            type filter hook prerouting priority raw + 1; policy accept;
            iifname "%s" ip saddr %s counter
            iifname "%s" ip saddr != %s counter
          }
        }
        """
            .formatted(counters, link, one().slot().address(), link, one().slot().address()));
    try {
      SandboxPaths paths = SandboxPaths.of(lab().options(), one().id());
      String foreign = other().slot().address();
      String send =
          """
          import socket
          for source in ("%s", "%s"):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind((source, 0))
            for i in range(5):
              try: s.sendto(b"x", ("198.51.100.1", 9))
              except OSError: pass
          """
              .formatted(one().slot().address(), foreign);
      HostHelperLab.run(
          "nsenter",
          "--user=" + paths.userNamespace(),
          "--net=" + paths.networkNamespace(),
          "sh",
          "-c",
          "ip addr add "
              + foreign
              + "/32 dev eth0 && python3 -c '"
              + send
              + "'; ip addr del "
              + foreign
              + "/32 dev eth0");
      List<String> packets =
          HostHelperLab.run("nft", "list", "table", "inet", counters)
              .lines()
              .filter(line -> line.contains("counter"))
              .map(line -> line.replaceAll(".*counter packets (\\d+).*", "$1"))
              .toList();
      assertThat(packets).containsExactly("5", "0");
    } finally {
      HostHelperLab.run("nft", "delete", "table", "inet", counters);
    }
  }

  @Test
  void resolvesAndReachesTheInternet() throws Exception {
    URI mirror = aptMirror().orElse(URI.create("http://mirror.invalid/"));
    int port = mirror.getScheme().equals("https") ? 443 : 80;
    assumeTrue(
        isReachable(mirror.getHost(), port),
        "SKIPPED, NOT PASSED: this host itself does not reach its package mirror "
            + mirror.getHost());
    assertThat(connect(one(), mirror.getHost(), port)).isEqualTo("connected");
  }

  /** A private address of a mirror is refused to sandboxes as any other one. */
  private static boolean isReachable(String host, int port) {
    try (Socket socket = new Socket()) {
      InetAddress address = InetAddress.getByName(host);
      socket.connect(new InetSocketAddress(address, port), 5000);
      return !address.isSiteLocalAddress();
    } catch (IOException _) {
      return false;
    }
  }

  @Test
  void resolvesNamesThroughTheResolversOfTheHost() throws Exception {
    String name = aptMirror().orElse(URI.create("http://mirror.invalid/")).getHost();
    String address;
    try {
      address = InetAddress.getByName(name).getHostAddress();
    } catch (UnknownHostException _) {
      assumeTrue(false, "SKIPPED, NOT PASSED: this host does not resolve " + name);
      return;
    }
    assumeTrue(
        !HostResolvers.read().servers().isEmpty(),
        "SKIPPED, NOT PASSED: this host's resolvers are all on loopback or IPv6");
    assertThat(NodeLab.sh(one(), "getent ahostsv4 " + name).output())
        .as("%s is %s", name, address)
        .matches("(?s)[0-9.]+ .*STREAM.*");
  }

  private static List<InetAddress> hostAddresses() throws IOException {
    return NetworkInterface.networkInterfaces()
        .flatMap(NetworkInterface::inetAddresses)
        .filter(address -> address instanceof java.net.Inet4Address)
        .filter(address -> !address.isLoopbackAddress() && !address.isLinkLocalAddress())
        .limit(3)
        .toList();
  }

  private static Optional<URI> aptMirror() throws IOException {
    Pattern pattern = Pattern.compile("^(?:URIs:|deb(?: \\[[^]]*\\])?) +(https?://[^ ]+)");
    try (Stream<Path> files = Files.walk(Path.of("/etc/apt"))) {
      for (Path file :
          files.filter(path -> path.toString().matches(".*\\.(list|sources)")).sorted().toList()) {
        for (String line : Files.readAllLines(file)) {
          Matcher matcher = pattern.matcher(line);
          if (matcher.find()) {
            return Optional.of(URI.create(matcher.group(1)));
          }
        }
      }
    }
    return Optional.empty();
  }
}
