package dev.hopx.compat;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What the user's hostile code sees and reaches. */
final class IsolationTest extends ServerTestBase {
  private AgentClient agent;

  @BeforeAll
  void createSandbox() {
    agent = server.createSandbox("base");
  }

  @Test
  void c13NothingOfThePlatformIsVisible() {
    String seen =
        agent
            .shell(
                "printenv; tr '\\0' '\\n' < /proc/1/environ; tr '\\0' '\\n' < /proc/self/environ;"
                    + " cat /proc/1/cmdline /proc/mounts /proc/self/cgroup")
            .text("stdout");
    assertThat(seen)
        .doesNotContain(server.apiKey(), agent.token(), "HOPX_", server.directory().toString())
        .doesNotContain(RunningServer.templateStore().toString())
        .doesNotContain("/run/" + server.instance());
  }

  @Test
  void rootInsideIsNobodyOutside() {
    assertThat(agent.shell("id -u").text("stdout")).isEqualTo("0\n");
    String base = agent.shell("awk '{print $2}' /proc/self/uid_map").text("stdout").strip();
    assertThat(Long.parseLong(base)).isGreaterThan(65536);
    AgentClient other = server.createSandbox("base");
    assertThat(other.shell("awk '{print $2}' /proc/self/uid_map").text("stdout").strip())
        .isNotEqualTo(base);
    server.delete("/v1/sandboxes/" + other.id());
  }

  @Test
  void privilegedCallsAreRefused() {
    for (String line :
        new String[] {
          "mount -t tmpfs none /mnt",
          "unshare --user true",
          "unshare --mount true",
          "echo core > /proc/sys/kernel/core_pattern",
          "mknod /tmp/disk b 8 0 && cat /tmp/disk",
          "touch /sys/made",
          "echo b > /proc/sysrq-trigger",
          "hostname other",
          "kill -9 1; kill -0 1 && false",
        }) {
      Reply reply = agent.shell(line);
      assertThat(reply.json().get("exit_code").asInt()).as(line).isNotZero();
    }
    assertThat(agent.shell("echo alive").text("stdout")).isEqualTo("alive\n");
  }

  @Test
  void theChannelIsClosedToUserCode() {
    Reply reply =
        agent.post(
            "/execute",
            Map.of(
                "code",
                """
                import socket
                s = socket.socket(socket.AF_UNIX)
                s.settimeout(5)
                s.connect('/.hopx/s')
                s.sendall(b'\\0\\0\\0\\x1c\\x01\\0\\0\\0\\0HOPX' + b'\\0' * 24)
                print(s.recv(100))
                """,
                "language",
                "python"));
    // Refused before a word of protocol: end of file, a reset or no way in.
    assertThat(reply.text("stdout")).isIn("b''\n", "");
    assertThat(agent.shell("echo alive").text("stdout")).isEqualTo("alive\n");
  }

  @Test
  void memoryHogDiesAloneAndTheSandboxLives() {
    Reply reply =
        agent.post(
            "/execute",
            Map.of("code", "x = bytearray(4 * 1024 ** 3)\nprint(len(x))", "language", "python"));
    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.json().get("success").asBoolean()).isFalse();
    assertThat(agent.shell("echo alive").text("stdout")).isEqualTo("alive\n");
  }

  @Test
  void sandboxWithoutInternetHasNoNetwork() {
    Reply created =
        server.post("/v1/sandboxes", "{\"template_name\":\"base\",\"internet_access\":false}");
    assertThat(created.status()).isEqualTo(201);
    AgentClient closed = server.agent(created.json());
    assertThat(closed.shell("ls /sys/class/net").text("stdout")).isEqualTo("lo\n");
    assertThat(closed.shell("curl -s -m 3 http://192.0.2.1/").json().get("exit_code").asInt())
        .isNotZero();
    server.delete("/v1/sandboxes/" + closed.id());
  }

  @Test
  void hostAndNeighboursAreOutOfReach() {
    AgentClient neighbour = server.createSandbox("base");
    String address =
        neighbour.shell("hostname -I 2>/dev/null || cat /proc/net/fib_trie").text("stdout").strip();
    assertThat(address).isNotEmpty();
    neighbour.shell("(python3 -m http.server 8000 >/dev/null 2>&1 &) ; sleep 1");
    assertThat(
            agent
                .shell("curl -s -m 2 http://" + address.split("\\s+")[0] + ":8000/")
                .json()
                .get("exit_code")
                .asInt())
        .isNotZero();
    String api = server.baseUrl().replace("127.0.0.1", "169.254.1.1");
    assertThat(agent.shell("curl -s -m 2 " + api + "/health").json().get("exit_code").asInt())
        .isNotZero();
    server.delete("/v1/sandboxes/" + neighbour.id());
  }
}
