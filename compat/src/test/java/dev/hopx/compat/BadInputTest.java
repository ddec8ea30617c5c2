package dev.hopx.compat;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpRequest;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a client sends wrong gets a 4xx that names it, a body and a request id; never a 500. */
final class BadInputTest extends ServerTestBase {
  private AgentClient agent;

  @BeforeAll
  void createSandbox() {
    agent = server.createSandbox("base");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{\"template_name\":\"code-interpretr\"} | 404 | code-interpreter",
        "{\"template_id\":\"no such thing at all\"} | 404 | emplate",
        "`` | 400 | template",
        "{} | 400 | template",
        "[] | 400 | object",
        "{\"template_name\" | 400 | JSON",
        "{\"template_name\":7.5} | 400 | template_name",
        "{\"template_name\":\"base\",\"timeout_seconds\":-1} | 400 | timeout_seconds",
        "{\"template_name\":\"base\",\"timeout_seconds\":0} | 400 | timeout_seconds",
        "{\"template_name\":\"base\",\"timeout_seconds\":\"soon\"} | 400 | timeout_seconds",
        "{\"template_name\":\"base\",\"env_vars\":[1]} | 400 | env_vars",
        "{\"template_name\":\"base\",\"env_vars\":{\"A\":1}} | 400 | env_vars",
        "{\"template_name\":\"base\",\"internet_access\":\"yes\"} | 400 | internet_access",
        "{\"template_name\":\"base\",\"region\":\"the moon\"} | 400 | region",
      })
  void create(String body, int status, String names) {
    refused(server.post("/v1/sandboxes", body), status, names);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "/execute | {\"language\":\"python\"} | 400 | code",
        "/execute | {\"code\":\"1\",\"language\":\"ruby\"} | 400 | ruby",
        "/execute | {\"code\":7} | 400 | code",
        "/execute | {\"code\":\"1\",\"timeout\":0} | 400 | timeout",
        "/execute | {\"code\":\"1\",\"timeout\":-5} | 400 | timeout",
        "/execute | {\"code\":\"1\",\"timeout\":\"long\"} | 400 | timeout",
        "/execute | {\"code\":\"1\",\"env\":\"A=1\"} | 400 | env",
        "/execute | {\"code\":\"1\",\"workdir\":\"/etc/nope\"} | 400 | /etc/nope",
        "/commands/run | {} | 400 | command",
        "/commands/run | {\"command\":[\"ls\"]} | 400 | command",
        "/commands/run | {\"command\":\"ls\",\"args\":\"-l\"} | 400 | args",
        "/files/write | {\"content\":\"x\"} | 400 | path",
        "/files/write | {\"path\":\"/workspace/x\",\"content\":\"x\",\"encoding\":\"rot13\"} | 400 | encoding",
        "/files/write | {\"path\":\"/workspace/x\",\"content\":\"x\",\"mode\":\"rwx\"} | 400 | mode",
        "/files/write | {\"path\":\"/workspace/\\u0000x\",\"content\":\"x\"} | 400 | path",
        "/files/write | {\"path\":\"/etc/passwd\",\"content\":\"x\"} | 403 | /etc/passwd",
        "/files/write | {\"path\":\"/workspace/../etc/passwd\",\"content\":\"x\"} | 403 | passwd",
        "/nothing/here | {} | 404 | ound",
      })
  void agentCalls(String path, String body, int status, String names) {
    HttpRequest request =
        agent.request(path).POST(HttpRequest.BodyPublishers.ofString(body)).build();
    refused(agent.send(request), status, names);
  }

  @Test
  void jsonOverTheLimitIsRefused() {
    String large = "{\"code\":\"" + "x".repeat(64 * 1024 * 1024) + "\"}";
    HttpRequest request =
        agent.request("/execute").POST(HttpRequest.BodyPublishers.ofString(large)).build();
    refused(agent.send(request), 413, "large");
    assertThat(agent.shell("echo still here").text("stdout")).isEqualTo("still here\n");
  }

  @Test
  void noKeyAndWrongKeys() {
    HttpRequest.Builder bare =
        HttpRequest.newBuilder(java.net.URI.create(server.baseUrl() + "/v1/sandboxes"));
    refused(server.send(bare.copy().build()), 401, "key");
    refused(server.send(bare.copy().header("X-API-Key", "nonsense").build()), 401, "");
    refused(server.send(bare.copy().header("Authorization", "Bearer nope").build()), 401, "");
    refused(server.send(bare.copy().header("X-API-Key", server.apiKey() + "x").build()), 401, "");
    assertThat(
            server
                .send(bare.copy().header("Authorization", "Bearer " + server.apiKey()).build())
                .status())
        .isEqualTo(200);
  }

  @Test
  void aTokenOpensOneSandboxOnly() {
    AgentClient other = server.createSandbox("base");
    AgentClient crossed = new AgentClient(agent.http(), other.id(), other.url(), agent.token());
    refused(crossed.shell("id"), 401, "");
    AgentClient keyed = new AgentClient(agent.http(), other.id(), other.url(), "x.y.z");
    refused(keyed.shell("id"), 401, "");
    assertThat(server.delete("/v1/sandboxes/" + other.id()).status()).isEqualTo(200);
  }

  @Test
  void unknownSandboxesAndTemplates() {
    refused(server.get("/v1/sandboxes/1763382095000aaaaa"), 404, "Sandbox not found");
    refused(server.get("/v1/sandboxes/..%2f..%2fetc"), 400, "URI");
    refused(server.get("/v1/templates/pythn"), 404, "");
    refused(server.get("/v1/no/such/path"), 404, "");
    refused(
        server.send(
            server.request("/v1/templates").PUT(HttpRequest.BodyPublishers.noBody()).build()),
        405,
        "");
  }

  @Test
  void missingFilesSayWhich() {
    Reply reply = agent.read("/workspace/missing.txt");
    refused(reply, 404, "/workspace/missing.txt");
    assertThat(reply.text("code")).isEqualTo("FILE_NOT_FOUND");
    assertThat(reply.text("path")).isEqualTo("/workspace/missing.txt");
  }

  @Test
  void pythonSdkGetsTheErrorAsAnObject() {
    Reply reply =
        server.send(
            server
                .request("/v1/sandboxes/1763382095000aaaaa")
                .header("User-Agent", "hopx-python/0.1.0")
                .build());
    assertThat(reply.json().path("error").path("code").asString("")).isNotEmpty();
    assertThat(reply.json().path("error").path("details").isObject()).isTrue();
  }

  @Test
  void emptyBodyWithJsonTypeIsNoError() {
    Reply reply =
        server.send(
            server
                .request("/v1/sandboxes/" + agent.id() + "/token/refresh")
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.noBody())
                .build());
    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.json().has("auth_token")).isTrue();
  }

  private static void refused(Reply reply, int status, String names) {
    assertThat(reply.status()).as(reply.body()).isEqualTo(status);
    assertThat(reply.text("message")).contains(names);
    assertThat(reply.text("code")).matches("[A-Z_]+");
    String requestId = reply.headers().firstValue("X-Request-ID").orElse("");
    assertThat(requestId).startsWith("req_");
    assertThat(reply.text("request_id")).isEqualTo(requestId);
    assertThat(reply.body()).doesNotContain("Exception", "dev.hopx");
  }
}
