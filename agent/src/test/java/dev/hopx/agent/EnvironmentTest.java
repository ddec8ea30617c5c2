package dev.hopx.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hopx.api.Variables;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code /env} and its effect in a real guest. */
class EnvironmentTest extends GuestTestBase {
  private Reply put(String variables) throws Exception {
    return agent().method("PUT", "/env", "{\"env_vars\":" + variables + "}");
  }

  private Reply patch(String variables) throws Exception {
    return agent().method("PATCH", "/env", "{\"env_vars\":" + variables + ",\"merge\":true}");
  }

  private String seen(String name) throws Exception {
    return agent().shell("printf '%s' \"${" + name + "-unset}\"").text("stdout");
  }

  @BeforeEach
  void clear() throws Exception {
    assertThat(agent().delete("/env").status()).isEqualTo(200);
  }

  @Test
  void aFreshListIsNotEmptyAndHidesThePlatform() throws Exception {
    Reply reply = agent().get("/env");

    assertThat(reply.json().get("env_vars").get("PATH").stringValue()).contains("/usr/bin");
    assertThat(reply.json().get("env_vars").get("HOME").stringValue()).isEqualTo("/root");
    assertThat(reply.json().get("env_vars").get("FROM_TEMPLATE").stringValue())
        .isEqualTo("template");
    assertThat(reply.json().get("env_vars").has("PLATFORM_CERTIFICATES")).isFalse();
    assertThat(reply.number("count")).isEqualTo(reply.json().get("env_vars").size());
    assertThat(reply.text("timestamp")).endsWith("Z");
    assertThat(seen("PLATFORM_CERTIFICATES")).isEqualTo("/etc/ssl/certs/ca-certificates.crt");
  }

  @Test
  void c10ValuesOfCreationAreThereFromTheStart() throws Exception {
    try (TestAgent fresh = TestAgent.start(machine().guest())) {
      assertThat(fresh.shell("printf '%s' \"$FROM_CREATION\"").text("stdout")).isEqualTo("l1\nl2");
      assertThat(fresh.shell("echo $OF_BOTH").text("stdout")).isEqualTo("creation\n");
      assertThat(fresh.get("/env").json().get("env_vars").get("CREATION_KEY").stringValue())
          .isEqualTo("***MASKED***");
      fresh.method("PUT", "/env", "{\"env_vars\":{}}");
      assertThat(fresh.shell("echo [$FROM_CREATION]$OF_BOTH").text("stdout"))
          .isEqualTo("[]template\n");
    }
    put("{\"K\":\"l1\\nl2\"}");
    assertThat(seen("K")).isEqualTo("l1\nl2");
    assertThat(
            agent()
                .post(
                    "/commands/run",
                    Map.of("command", "printf '%s' \"$K\"", "env", Map.of("K", "m1\nm2\n")))
                .text("stdout"))
        .isEqualTo("m1\nm2\n");
  }

  @Test
  void c11PutReplacesAndPatchMerges() throws Exception {
    assertThat(put("{\"A\":\"1\",\"B\":\"2\"}").json().get("env_vars").get("A").stringValue())
        .isEqualTo("1");
    Reply merged = patch("{\"B\":\"3\",\"C\":\"x y\"}");
    assertThat(merged.json().get("env_vars").get("B").stringValue()).isEqualTo("3");
    assertThat(agent().shell("echo $A $B $C").text("stdout")).isEqualTo("1 3 x y\n");

    Reply replaced = put("{\"ONLY\":\"1\"}");

    assertThat(replaced.json().get("env_vars").has("A")).isFalse();
    assertThat(replaced.json().get("env_vars").has("PATH")).isTrue();
    assertThat(seen("A")).isEqualTo("unset");
    assertThat(seen("ONLY")).isEqualTo("1");
    assertThat(agent().delete("/env").json().get("env_vars").has("ONLY")).isFalse();
    assertThat(seen("ONLY")).isEqualTo("unset");
    assertThat(seen("HOME")).isEqualTo("/root");
  }

  @ParameterizedTest
  @CsvSource(
      ignoreLeadingAndTrailingWhitespace = false,
      value = {
        "EMPTY,''",
        "DASH,--x",
        "QUOTES,'a \"$HOME\" `b` \\'",
        "UNICODE,あ🤣",
        "npm_config_x-y.z,1"
      })
  void c8ValuesArriveByteForByte(String name, String value) throws Exception {
    put(dev.hopx.http.Json.mapper().writeValueAsString(Map.of(name, value)));

    assertThat(
            agent()
                .post(
                    "/commands/run", Map.of("command", "printenv", "args", java.util.List.of(name)))
                .text("stdout"))
        .isEqualTo(value + "\n");
    assertThat(agent().get("/env").json().get("env_vars").get(name).stringValue()).isEqualTo(value);
  }

  @Test
  void secretsAreMaskedAndTheMaskKeepsThem() throws Exception {
    put("{\"API_KEY\":\"k1\",\"db_password\":\"p1\",\"PLAIN\":\"x\"}");
    Reply shown = agent().get("/env");
    assertThat(shown.body()).doesNotContain("k1", "p1");
    assertThat(shown.json().get("env_vars").get("API_KEY").stringValue()).isEqualTo("***MASKED***");
    assertThat(agent().get("/env?reveal=true").json().get("env_vars").get("API_KEY").stringValue())
        .isEqualTo("k1");
    assertThat(seen("API_KEY")).isEqualTo("k1");

    // As every SDK deletes one variable: it writes back the others, as it was shown them.
    var variables = (tools.jackson.databind.node.ObjectNode) shown.json().get("env_vars");
    variables.remove("PLAIN");
    put(variables.toString());

    assertThat(seen("API_KEY")).isEqualTo("k1");
    assertThat(seen("db_password")).isEqualTo("p1");
    assertThat(seen("PLAIN")).isEqualTo("unset");
    patch("{\"API_KEY\":\"***MASKED***\"}");
    assertThat(seen("API_KEY")).isEqualTo("k1");
    put("{\"OTHER_KEY\":\"***MASKED***\"}");
    assertThat(seen("OTHER_KEY")).isEqualTo("unset");
  }

  @Test
  void aSystemValueWrittenBackDoesNotBecomeCustom() throws Exception {
    put(agent().get("/env").json().get("env_vars").toString());
    assertThat(Files.readString(agent().state().resolve("env.json"))).doesNotContain("PATH");

    put("{\"PATH\":\"/workspace/bin:/usr/bin:/bin\"}");
    assertThat(seen("PATH")).isEqualTo("/workspace/bin:/usr/bin:/bin");
    put("{}");
    assertThat(seen("PATH")).startsWith("/usr/local/sbin");
  }

  @Test
  void whatIsSetOutlivesTheServerAndOnlyItsUserReadsIt() throws Exception {
    put("{\"KEPT\":\"secret value\"}");
    var file = agent().state().resolve("env.json");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");

    AgentSession restarted =
        new AgentSession(new TestSandbox(machine().guest(), agent().state(), () -> true));

    assertThat(restarted.environment().forRun(Map.of())).containsEntry("KEPT", "secret value");
    try (var files = Files.list(agent().state())) {
      assertThat(files).containsExactly(file);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{} | env_vars",
        "{\"env_vars\":[]} | env_vars",
        "{\"env_vars\":{\"A\":null}} | 'A'",
        "{\"env_vars\":{\"A\":7}} | 'A'",
        "{\"env_vars\":{\"\":\"x\"}} | name",
        "{\"env_vars\":{\"1A\":\"x\"}} | 1A",
        "{\"env_vars\":{\"A=B\":\"x\"}} | A=B",
        "{\"env_vars\":{\"A B\":\"x\"}} | A B",
        "{\"env_vars\":{\"A\":\"\\u0000\"}} | NUL",
        "{\"env_vars\":{\"A\":\"x\"},\"merge\":\"yes\"} | merge"
      })
  void badInputIsRefusedAndChangesNothing(String body, String names) throws Exception {
    put("{\"STAYS\":\"1\"}");
    for (String method : new String[] {"PUT", "PATCH"}) {
      Reply reply = agent().method(method, "/env", body);
      assertThat(reply.status()).as(reply.body()).isEqualTo(400);
      assertThat(reply.text("message")).contains(names);
    }
    assertThat(seen("STAYS")).isEqualTo("1");
  }

  @Test
  void theLargestEnvironmentThatIsTakenRuns() throws Exception {
    Map<String, String> system =
        SandboxEnvironment.load(new TestSandbox(machine().guest(), agent().state(), () -> true))
            .forRun(Map.of());
    long used = 0;
    for (Map.Entry<String, String> entry : system.entrySet()) {
      used += Variables.ENTRY_COST + entry.getKey().length() + entry.getValue().length();
    }
    int room = (int) (Variables.MAX_TOTAL - used - Variables.ENTRY_COST - 1);

    assertThat(put("{\"X\":\"" + "x".repeat(room + 1) + "\"}").status()).isEqualTo(400);
    assertThat(put("{\"X\":\"" + "x".repeat(room) + "\"}").status()).isEqualTo(200);
    String text = "echo ${#X} #" + "y".repeat(ShellProgram.MAX_ARGUMENT - 12);
    assertThat(text).hasSize(ShellProgram.MAX_ARGUMENT);
    assertThat(agent().shell(text).text("stdout")).isEqualTo(room + "\n");
    assertThat(
            agent()
                .post("/commands/run", Map.of("command", "true", "env", Map.of("Y", "too much")))
                .status())
        .isEqualTo(400);
  }
}
