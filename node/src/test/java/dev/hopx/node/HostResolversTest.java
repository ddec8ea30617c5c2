package dev.hopx.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class HostResolversTest {
  @TempDir private Path directory;

  private HostResolvers read(String host, String behind) throws Exception {
    Path first = directory.resolve("resolv.conf");
    Path second = directory.resolve("behind.conf");
    Files.writeString(first, host);
    Files.writeString(second, behind);
    return HostResolvers.read(first, second);
  }

  @Test
  void takesTheHostsOwn() throws Exception {
    HostResolvers resolvers =
        read(
            "# comment\nnameserver 10.1.1.1\nnameserver fe80::1%eth0\nsearch example.org\n"
                + "options edns0\nnameserver\t192.0.2.1 \n",
            "nameserver 8.8.8.8\n");
    assertThat(resolvers.servers()).containsExactly("10.1.1.1", "192.0.2.1");
    assertThat(resolvers.file())
        .isEqualTo("nameserver 10.1.1.1\nnameserver 192.0.2.1\nsearch example.org\n");
  }

  @Test
  void looksBehindAResolverOnLoopback() throws Exception {
    assertThat(read("nameserver 127.0.0.53\n", "nameserver 10.2.2.2\n").servers())
        .containsExactly("10.2.2.2");
    assertThat(read("nameserver 127.0.0.53\n", "").servers()).isEmpty();
  }

  @Test
  void keepsThreeAndNoNonsense() throws Exception {
    assertThat(
            read(
                    "nameserver 1.1.1.1; rm\nnameserver 999.1.1.1\nnameserver 1.0.0.1\n"
                        + "nameserver 1.0.0.2\nnameserver 1.0.0.3\nnameserver 1.0.0.4\n"
                        + "search a b; nft flush\n",
                    "")
                .servers())
        .containsExactly("1.0.0.1", "1.0.0.2", "1.0.0.3");
  }

  @Test
  void aHostWithoutTheFileHasNone() {
    assertThat(HostResolvers.read(directory.resolve("a"), directory.resolve("b")).servers())
        .isEmpty();
  }
}
