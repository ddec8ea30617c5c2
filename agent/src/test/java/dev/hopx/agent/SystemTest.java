package dev.hopx.agent;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

class SystemTest extends GuestTestBase {
  @Test
  void systemShowsTheFactsOfTheMachineAndNoOnesVariables() throws Exception {
    agent().method("PUT", "/env", "{\"env_vars\":{\"MINE\":\"private value\"}}");

    Reply reply = agent().send(agent().bare("/system"));

    assertThat(reply.status()).isEqualTo(200);
    JsonNode system = reply.json();
    assertThat(system.get("os").get("name").stringValue()).contains("Debian");
    assertThat(system.get("os").get("kernel").stringValue())
        .isEqualTo(agent().shell("uname -r").text("stdout").strip());
    assertThat(system.get("hardware").get("cpu_cores").intValue()).isEqualTo(2);
    assertThat(system.get("hardware").get("memory_mb").intValue()).isEqualTo(4096);
    assertThat(system.get("network").get("hostname").stringValue())
        .isEqualTo(agent().shell("cat /proc/sys/kernel/hostname").text("stdout").strip());
    assertThat(system.get("network").get("interfaces").valueStream())
        .anyMatch(
            entry -> entry.get("name").stringValue().equals("lo") && entry.get("mac").isString());
    assertThat(system.get("environment").get("home").stringValue()).isEqualTo("/root");
    assertThat(system.get("capabilities").isArray()).isTrue();
    assertThat(reply.body()).doesNotContain("private value", "FROM_TEMPLATE", "FROM_CREATION");
  }
}
