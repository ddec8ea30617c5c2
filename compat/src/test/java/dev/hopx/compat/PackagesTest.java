package dev.hopx.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Installing packages inside a sandbox, also behind a proxy that inspects TLS. */
final class PackagesTest extends ServerTestBase {
  private AgentClient agent;

  @BeforeAll
  void createSandbox() {
    agent = server.createSandbox("code-interpreter");
  }

  @Test
  void pip() {
    assumeReachable("pip download --no-deps --no-cache-dir -d /tmp/probe six");
    install(
        "pip install humanize",
        "python3 -c 'import humanize; print(humanize.intcomma(1234567))'",
        "1,234,567\n");
  }

  @Test
  void npm() {
    assumeReachable("npm view is-number version");
    install(
        "mkdir -p /tmp/js && cd /tmp/js && npm install is-number",
        "cd /tmp/js && node -e 'console.log(require(\"is-number\")(5))'",
        "true\n");
  }

  @Test
  void apt() {
    assumeReachable("apt-get update -o APT::Update::Error-Mode=any");
    install("apt-get install -y --no-install-recommends hello", "hello", "Hello, world!\n");
  }

  private void install(String install, String use, String output) {
    Reply installed = run(install);
    assertThat(installed.json().get("exit_code").asInt()).as(installed.body()).isZero();
    assertThat(run(use).text("stdout")).isEqualTo(output);
  }

  private Reply run(String line) {
    return agent.post("/commands/run", Map.of("command", line, "timeout", 170));
  }

  /** On the host a registry may be out of reach; inside, only our own faults may stop it. */
  private void assumeReachable(String line) {
    Reply reply = run(line);
    if (reply.json().get("exit_code").asInt() == 0) {
      return;
    }
    assumeTrue(
        hostReaches(line.split(" ", 2)[0]),
        "SKIPPED: the registry of " + line + " is not reachable from this host: " + reply.body());
    assertThat(reply.json().get("exit_code").asInt()).as(reply.body()).isZero();
  }

  private static boolean hostReaches(String tool) {
    String probe =
        switch (tool) {
          case "pip" -> "python3 -m pip download --no-deps --no-cache-dir -d /tmp/hopx-probe six";
          case "npm" -> "npm view is-number version";
          default -> "apt-get update -o APT::Update::Error-Mode=any";
        };
    return Run.of(
                java.nio.file.Path.of("/tmp"),
                Map.of(),
                java.time.Duration.ofMinutes(2),
                java.util.List.of("sh", "-c", probe))
            .exitCode()
        == 0;
  }
}
