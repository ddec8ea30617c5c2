package dev.hopx.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hopx.api.Variables;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

final class ControlApiTest {
  private static final List<String> SANDBOX_KEYS =
      List.of(
          "object",
          "id",
          "status",
          "public_host",
          "direct_url",
          "preview_url",
          "template_id",
          "template_name",
          "organization_id",
          "node_id",
          "region",
          "resources",
          "isolation",
          "internet_access",
          "live_mode",
          "timeout_seconds",
          "expires_at",
          "created_at",
          "started_at",
          "end_at",
          "updated_at",
          "metadata",
          "auth_token",
          "token_expires_at");

  @TempDir private Path directory;
  private ControlFixture control;

  @BeforeEach
  void open() {
    control = new ControlFixture(directory);
  }

  @AfterEach
  void close() {
    control.close();
  }

  @Test
  void healthNeedsNoKey() {
    var answer = control.call("GET", "/health", Optional.empty());
    assertThat(answer.status()).isEqualTo(200);
    assertThat(answer.text("status")).isEqualTo("healthy");
    assertThat(answer.text("version")).isEqualTo("1.2.3");
    assertThat(answer.text("isolation")).isEqualTo("container");
    assertThat(answer.headers().firstValue("Content-Type").orElseThrow())
        .startsWith("application/json");
    assertThat(OffsetDateTime.parse(answer.text("timestamp"))).isNotNull();
  }

  @ParameterizedTest
  @CsvSource({
    "POST,/v1/sandboxes",
    "GET,/v1/sandboxes",
    "GET,/v1/sandboxes/1763382095000abcde",
    "DELETE,/v1/sandboxes/1763382095000abcde",
    "POST,/v1/sandboxes/1763382095000abcde/resume",
    "PUT,/v1/sandboxes/1763382095000abcde/timeout",
    "POST,/v1/sandboxes/1763382095000abcde/token/refresh",
    "POST,/v1/sandboxes/1763382095000abcde/refresh",
    "GET,/v1/templates",
    "GET,/v1/templates/base"
  })
  void everythingElseNeedsAValidKey(String method, String path) {
    var without = control.call(method, path, Optional.empty());
    assertError(without, 401, "AUTHENTICATION_REQUIRED");
    assertThat(without.headers().firstValue("WWW-Authenticate")).hasValue("Bearer");
    String wrong = control.adminKey.substring(0, 23) + "A".repeat(43);
    assertError(
        control.call(method, path, Optional.empty(), "X-API-Key", wrong), 401, "INVALID_TOKEN");
    assertError(
        control.call(method, path, Optional.empty(), "Authorization", "Bearer " + wrong),
        401,
        "INVALID_TOKEN");
  }

  @Test
  void bothHeaderFormsOfTheKeyWork() {
    assertThat(
            control
                .call("GET", "/v1/sandboxes", Optional.empty(), "X-API-Key", control.adminKey)
                .status())
        .isEqualTo(200);
    assertThat(
            control
                .call(
                    "GET",
                    "/v1/sandboxes",
                    Optional.empty(),
                    "Authorization",
                    "Bearer " + control.adminKey)
                .status())
        .isEqualTo(200);
  }

  @Test
  void createdSandboxHasTheExactShape() {
    var answer =
        control.call(
            "POST",
            "/v1/sandboxes",
            """
            {"template_id":"73","region":"eu-west","timeout_seconds":3600,"internet_access":false,
             "env_vars":{"A":"1"},"metadata":{"run":7}}
            """);
    assertThat(answer.status()).isEqualTo(201);
    JsonNode body = answer.body();
    List<String> keys = new ArrayList<>(SANDBOX_KEYS);
    keys.add("request_id");
    assertThat(answer.keys()).containsExactlyInAnyOrderElementsOf(keys);
    assertThat(answer.text("object")).isEqualTo("sandbox");
    assertThat(answer.text("id")).matches("[0-9]{13}[a-z0-9]{5}");
    assertThat(answer.text("status")).isEqualTo("running");
    assertThat(answer.text("public_host")).matches("http://127\\.0\\.0\\.1:31[0-9]{3}");
    assertThat(answer.text("direct_url")).isEqualTo(answer.text("public_host"));
    assertThat(answer.text("template_id")).isEqualTo("73");
    assertThat(answer.text("template_name")).isEqualTo("code-interpreter");
    assertThat(body.path("organization_id").isIntegralNumber()).isTrue();
    assertThat(answer.text("node_id")).isEqualTo("node-a");
    assertThat(answer.text("region")).isEqualTo("eu-west");
    assertThat(body.path("resources").toString())
        .isEqualTo("{\"vcpu\":2,\"memory_mb\":4096,\"disk_mb\":10240}");
    assertThat(answer.text("isolation")).isEqualTo("container");
    assertThat(body.path("internet_access").isBoolean()).isTrue();
    assertThat(body.path("internet_access").booleanValue()).isFalse();
    assertThat(body.path("live_mode").booleanValue()).isTrue();
    assertThat(body.path("timeout_seconds").isIntegralNumber()).isTrue();
    assertThat(body.path("timeout_seconds").intValue()).isEqualTo(3600);
    assertThat(body.path("metadata").toString()).isEqualTo("{\"run\":7}");
    for (String name : List.of("created_at", "started_at", "expires_at", "end_at", "updated_at")) {
      assertThat(answer.text(name)).matches("[0-9-]{10}T[0-9:]{8}\\.[0-9]{3}Z");
    }
    assertThat(
            Duration.between(
                Instant.parse(answer.text("created_at")), Instant.parse(answer.text("expires_at"))))
        .isEqualTo(Duration.ofHours(1));
    assertThat(answer.text("auth_token")).startsWith("eyJ");
    assertThat(Instant.parse(answer.text("token_expires_at")))
        .isAfter(Instant.now().plus(Duration.ofHours(23)));
    assertThat(control.tokens.opens(answer.text("auth_token"), answer.text("id"))).isTrue();
    assertThat(body.toString()).as("no environment on the wire").doesNotContain("\"A\"");
  }

  @Test
  void withoutATimeoutThereIsNoExpiry() {
    var answer = control.call("POST", "/v1/sandboxes", "{\"template_name\":\"base\"}");
    assertThat(answer.status()).isEqualTo(201);
    for (String name : List.of("timeout_seconds", "expires_at", "end_at", "preview_url")) {
      assertThat(answer.body().has(name)).isTrue();
      assertThat(answer.body().path(name).isNull()).as(name).isTrue();
    }
    assertThat(answer.text("region")).isEqualTo("local");
    assertThat(answer.body().path("internet_access").booleanValue()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"template_id\":\"73\"}",
        "{\"template_id\":73}",
        "{\"template_id\":\"code-interpreter\"}",
        "{\"template_id\":{\"value\":\"73\"}}",
        "{\"template_name\":\"code-interpreter\"}",
        "{\"template_id\":\"73\",\"template_name\":\"code-interpreter\"}",
        "{\"template_id\":\"73\",\"timeout_seconds\":null,\"env_vars\":null,\"region\":null}",
        "{\"template_id\":\"73\",\"vcpu\":1,\"memory_mb\":512,\"disk_gb\":1}",
        "{\"template_id\":\"73\",\"timeout_seconds\":315360000}",
        "{\"template_id\":\"73\",\"env_vars\":{}}"
      })
  void templatesAreNamedInManyWays(String body) {
    var answer = control.call("POST", "/v1/sandboxes", body);
    assertThat(answer.status()).isEqualTo(201);
    assertThat(answer.text("template_id")).isEqualTo("73");
    assertThat(answer.text("template_name")).isEqualTo("code-interpreter");
    assertThat(answer.body().path("resources").path("vcpu").intValue()).isEqualTo(2);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{} | template_id",
        "{\"template_id\":null} | template_id",
        "{\"template_id\":\"\"} | template_id",
        "{\"template_id\":true} | template_id",
        "{\"template_id\":7.5} | template_id",
        "{\"template_id\":[\"73\"]} | template_id",
        "{\"template_id\":{}} | template_id",
        "{\"template_name\":73} | template_name",
        "{\"template_id\":\"1\",\"template_name\":\"code-interpreter\"} | template_name",
        "{\"template_id\":\"73\",\"timeout_seconds\":0} | timeout_seconds",
        "{\"template_id\":\"73\",\"timeout_seconds\":-1} | timeout_seconds",
        "{\"template_id\":\"73\",\"timeout_seconds\":1.5} | timeout_seconds",
        "{\"template_id\":\"73\",\"timeout_seconds\":\"60\"} | timeout_seconds",
        "{\"template_id\":\"73\",\"timeout_seconds\":true} | timeout_seconds",
        "{\"template_id\":\"73\",\"timeout_seconds\":315360001} | timeout_seconds",
        "{\"template_id\":\"73\",\"timeout_seconds\":1000000000000} | timeout_seconds",
        "{\"template_id\":\"73\",\"timeout_seconds\":99999999999999999999} | timeout_seconds",
        "{\"template_id\":\"73\",\"internet_access\":\"yes\"} | internet_access",
        "{\"template_id\":\"73\",\"internet_access\":1} | internet_access",
        "{\"template_id\":\"73\",\"region\":\"moon\"} | region",
        "{\"template_id\":\"73\",\"region\":7} | region",
        "{\"template_id\":\"73\",\"env_vars\":[]} | env_vars",
        "{\"template_id\":\"73\",\"env_vars\":\"A=1\"} | env_vars",
        "{\"template_id\":\"73\",\"env_vars\":{\"A\":1}} | env_vars.A",
        "{\"template_id\":\"73\",\"env_vars\":{\"A\":null}} | env_vars.A",
        "{\"template_id\":\"73\",\"env_vars\":{\"A\":\"x\\u0000y\"}} | env_vars",
        "{\"template_id\":\"73\",\"env_vars\":{\"\":\"x\"}} | env_vars",
        "{\"template_id\":\"73\",\"env_vars\":{\"A=B\":\"x\"}} | env_vars",
        "{\"template_id\":\"73\",\"env_vars\":{\"A B\":\"x\"}} | env_vars",
        "{\"template_id\":\"73\",\"env_vars\":{\"1A\":\"x\"}} | env_vars",
        "{\"template_id\":\"73\",\"metadata\":[]} | metadata",
        "{\"template_id\":\"73\",\"vcpu\":0} | vcpu",
        "{\"template_id\":\"73\",\"cpu\":0} | cpu",
        "{\"template_id\":\"73\",\"memory_mb\":0} | memory_mb",
        "{\"template_id\":\"73\",\"memory\":-5} | memory",
        "{\"template_id\":\"73\",\"disk_gb\":\"big\"} | disk_gb",
      })
  void badCreationsAreRefusedByField(String body, String field) {
    var answer = control.call("POST", "/v1/sandboxes", body);
    assertError(answer, 400, "INVALID_REQUEST");
    assertThat(answer.text("message")).contains(field);
    assertThat(answer.body().path("details").path("field").stringValue()).isEqualTo(field);
    assertThat(control.node.creations()).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"{", "[]", "\"x\"", "null", "{\"a\":1,\"a\":2}", "{} {}", "\u0000"})
  void whatIsNoJsonObjectIsRefused(String body) {
    var answer = control.call("POST", "/v1/sandboxes", body);
    assertError(answer, 400, "INVALID_JSON");
    assertThat(control.node.creations()).isZero();
  }

  @Test
  void aMissingBodyIsRefused() {
    var answer = control.call("POST", "/v1/sandboxes");
    assertError(answer, 400, "INVALID_REQUEST");
    assertThat(answer.text("message")).contains("template_id");
  }

  @Test
  void environmentIsTakenUpToItsLimitAndNotBeyond() {
    String longest = "v".repeat(Variables.MAX_AT_CREATION - Variables.ENTRY_COST - "A".length());
    assertThat(control.call("POST", "/v1/sandboxes", environment(longest)).status()).isEqualTo(201);
    var tooLong = control.call("POST", "/v1/sandboxes", environment(longest + "v"));
    assertError(tooLong, 400, "INVALID_REQUEST");
    assertThat(tooLong.text("message")).contains("env_vars").hasSizeLessThan(200);
  }

  @Test
  void metadataIsTakenUpToItsLimitAndNotBeyond() {
    int overhead = "{\"a\":\"\"}".length();
    String value = "m".repeat(SandboxRequests.MAX_METADATA_BYTES - overhead);
    String form = "{\"template_id\":\"1\",\"metadata\":{\"a\":\"%s\"}}";
    assertThat(control.call("POST", "/v1/sandboxes", form.formatted(value)).status())
        .isEqualTo(201);
    assertError(
        control.call("POST", "/v1/sandboxes", form.formatted(value + "m")), 400, "INVALID_REQUEST");
  }

  @Test
  void anUnknownTemplateComesWithSuggestions() {
    var answer = control.call("POST", "/v1/sandboxes", "{\"template_name\":\"code-intrepreter\"}");
    assertError(answer, 404, "RESOURCE_NOT_FOUND");
    assertThat(answer.text("message"))
        .contains("code-intrepreter")
        .contains("Did you mean code-interpreter?");
    assertThat(answer.body().path("details").path("suggestions").toString())
        .isEqualTo("[\"code-interpreter\"]");
    assertError(control.call("GET", "/v1/templates/cod"), 404, "RESOURCE_NOT_FOUND");
    assertError(control.call("GET", "/v1/templates/" + "x".repeat(129)), 404, "RESOURCE_NOT_FOUND");
    assertError(
        control.call("POST", "/v1/sandboxes", "{\"template_id\":999999999999999999999}"),
        404,
        "RESOURCE_NOT_FOUND");
  }

  @Test
  void aTemplateThatIsNotBuiltIsRefusedAtOnce() {
    Instant begun = Instant.now();
    var answer = control.call("POST", "/v1/sandboxes", "{\"template_name\":\"slow\"}");
    assertError(answer, 409, "CONFLICT");
    assertThat(answer.text("message")).contains("not ready").contains("./hopx");
    assertThat(answer.body().path("retry_after").isIntegralNumber()).isTrue();
    assertThat(answer.headers().firstValue("Retry-After")).isPresent();
    assertThat(Duration.between(begun, Instant.now())).isLessThan(Duration.ofSeconds(5));
    assertThat(control.node.creations()).isZero();
  }

  @Test
  void whatTheMachineRefusesIs503WithoutItsSecrets() {
    control.node.duringCreate(
        _ -> {
          throw new dev.hopx.node.NodeException("mount /var/lib/private failed");
        });
    var answer = control.call("POST", "/v1/sandboxes", "{\"template_id\":\"1\"}");
    assertError(answer, 503, "SERVICE_UNAVAILABLE");
    assertThat(answer.body().toString()).doesNotContain("/var/lib");
    assertThat(control.node.list()).isEmpty();
  }

  @Test
  void aFullNodeIs503WithTheTimeToTryAgainAndNothingIsMade() {
    control.node.full(Optional.of("the host has 5 MiB of memory available"));
    var answer = control.call("POST", "/v1/sandboxes", "{\"template_id\":\"1\"}");
    assertError(answer, 503, "SERVICE_UNAVAILABLE");
    assertThat(answer.text("message")).contains("no available nodes").doesNotContain("5 MiB");
    assertThat(answer.headers().firstValue("Retry-After")).contains("5");
    assertThat(control.node.creations()).isZero();
    control.node.full(Optional.empty());
    assertThat(control.call("POST", "/v1/sandboxes", "{\"template_id\":\"1\"}").status())
        .isEqualTo(201);
  }

  @Test
  void whoLosesTheLastPlaceGetsTheSameAnswer() {
    control.node.duringCreate(
        _ -> {
          throw new dev.hopx.node.NodeFullException("taken");
        });
    var answer = control.call("POST", "/v1/sandboxes", "{\"template_id\":\"1\"}");
    assertError(answer, 503, "SERVICE_UNAVAILABLE");
    assertThat(answer.text("message")).contains("no available nodes");
    assertThat(answer.headers().firstValue("Retry-After")).contains("5");
    assertThat(control.node.list()).isEmpty();
  }

  @Test
  void getAndListShowTheSameFields() {
    String id = create();
    var got = control.call("GET", "/v1/sandboxes/" + id);
    assertThat(got.status()).isEqualTo(200);
    List<String> keys = new ArrayList<>(SANDBOX_KEYS);
    keys.add("request_id");
    assertThat(got.keys()).containsExactlyInAnyOrderElementsOf(keys);

    var listed = control.call("GET", "/v1/sandboxes");
    assertThat(listed.keys())
        .containsExactlyInAnyOrder(
            "object", "data", "has_more", "next_cursor", "url", "request_id");
    assertThat(listed.text("object")).isEqualTo("list");
    assertThat(listed.text("url")).isEqualTo("/v1/sandboxes");
    assertThat(listed.body().path("has_more").booleanValue()).isFalse();
    assertThat(listed.body().path("next_cursor").isNull()).isTrue();
    assertThat(listed.body().path("data").get(0).propertyNames())
        .containsExactlyInAnyOrderElementsOf(SANDBOX_KEYS);
  }

  @Test
  void emptyListsAreArrays() {
    assertThat(control.call("GET", "/v1/sandboxes").body().path("data").toString()).isEqualTo("[]");
    control.catalog.clear();
    assertThat(control.call("GET", "/v1/templates").body().path("data").toString()).isEqualTo("[]");
  }

  @Test
  void pagesCoverEverythingOnceNewestFirst() {
    List<String> made = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      made.addFirst(create());
    }
    List<String> seen = new ArrayList<>();
    String path = "/v1/sandboxes?limit=2";
    Set<String> cursors = new HashSet<>();
    while (true) {
      var page = control.call("GET", path);
      page.body().path("data").forEach(item -> seen.add(item.path("id").stringValue()));
      if (!page.body().path("has_more").booleanValue()) {
        break;
      }
      String cursor = page.text("next_cursor");
      assertThat(cursors.add(cursor)).as("a fresh cursor each time").isTrue();
      path = "/v1/sandboxes?limit=2&cursor=" + cursor;
    }
    assertThat(seen).isEqualTo(made);
    assertThat(cursors).hasSize(2);
  }

  @ParameterizedTest
  @CsvSource({
    "limit=0,limit",
    "limit=-1,limit",
    "limit=abc,limit",
    "limit=1.5,limit",
    "cursor=nonsense,cursor",
    "status=sleeping,status",
    "region=moon,region"
  })
  void badListParametersAreRefusedByName(String query, String field) {
    var answer = control.call("GET", "/v1/sandboxes?" + query);
    assertError(answer, 400, "INVALID_REQUEST");
    assertThat(answer.text("message")).contains(field);
  }

  @ParameterizedTest
  @ValueSource(strings = {"1", "1000", "1001", "99999999999999999999", "007", ""})
  void limitsAreClamped(String limit) {
    create();
    create();
    var answer = control.call("GET", "/v1/sandboxes?limit=" + limit);
    assertThat(answer.status()).isEqualTo(200);
    assertThat(answer.body().path("data")).hasSize(limit.equals("1") ? 1 : 2);
  }

  @Test
  void defaultPageHasAHundred() {
    for (int i = 0; i < ControlApi.DEFAULT_LIMIT + 1; i++) {
      control.create();
    }
    var answer = control.call("GET", "/v1/sandboxes");
    assertThat(answer.body().path("data")).hasSize(ControlApi.DEFAULT_LIMIT);
    assertThat(answer.body().path("has_more").booleanValue()).isTrue();
    assertThat(control.call("GET", "/v1/sandboxes?limit=101").body().path("has_more").toString())
        .isEqualTo("false");
  }

  @Test
  void filtersCombine() {
    create("{\"template_id\":\"1\",\"region\":\"us-east\"}");
    String west = create("{\"template_id\":\"1\",\"region\":\"eu-west\"}");
    assertThat(ids("/v1/sandboxes?region=eu-west")).containsExactly(west);
    assertThat(ids("/v1/sandboxes?region=eu-west&status=running")).containsExactly(west);
    for (String status : List.of("paused", "stopped", "creating", "error", "deleted")) {
      assertThat(ids("/v1/sandboxes?region=eu-west&status=" + status)).isEmpty();
    }
  }

  @Test
  void deletionAnswersTwiceAndIsSeenAtOnce() {
    String id = create();
    for (int i = 0; i < 2; i++) {
      var answer = control.call("DELETE", "/v1/sandboxes/" + id);
      assertThat(answer.status()).isEqualTo(200);
      assertThat(answer.keys()).containsExactlyInAnyOrder("status", "id", "request_id");
      assertThat(answer.text("status")).isEqualTo("deleted");
      assertThat(answer.text("id")).isEqualTo(id);
      assertNoSandbox(control.call("GET", "/v1/sandboxes/" + id));
      assertThat(ids("/v1/sandboxes")).isEmpty();
    }
    assertNoSandbox(control.call("POST", "/v1/sandboxes/" + id + "/token/refresh"));
    assertNoSandbox(control.call("POST", "/v1/sandboxes/" + id + "/resume"));
    assertNoSandbox(
        control.call("PUT", "/v1/sandboxes/" + id + "/timeout", "{\"timeout_seconds\":5}"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"1763382095000abcde", "x", "UPPER", "a.b", "%F0%9F%98%80", "1%27--"})
  void anyUnknownIdIsNotFound(String id) {
    assertNoSandbox(control.call("GET", "/v1/sandboxes/" + id));
    assertNoSandbox(control.call("DELETE", "/v1/sandboxes/" + id));
    assertNoSandbox(control.call("POST", "/v1/sandboxes/" + id + "/resume"));
  }

  @Test
  void anExpiredSandboxIsGoneAsTheJavaScriptClientReadsIt() {
    String id = create("{\"template_id\":\"1\",\"timeout_seconds\":60}");
    control.clock.advance(Duration.ofSeconds(61));
    var answer = control.call("GET", "/v1/sandboxes/" + id);
    assertError(answer, 410, "SANDBOX_EXPIRED");
    assertThat(answer.text("sandbox_id")).isEqualTo(id);
    assertThat(answer.text("status")).isEqualTo("expired");
    assertThat(Instant.parse(answer.text("expires_at")))
        .isEqualTo(Instant.parse(answer.text("created_at")).plusSeconds(60));
    assertThat(control.call("DELETE", "/v1/sandboxes/" + id).status()).isEqualTo(200);
  }

  @Test
  void timeoutCountsFromNowAndIsEchoed() {
    String id = create("{\"template_id\":\"1\",\"timeout_seconds\":1800}");
    control.clock.advance(Duration.ofMinutes(10));
    Instant before = control.clock.instant();
    var answer =
        control.call("PUT", "/v1/sandboxes/" + id + "/timeout", "{\"timeout_seconds\":3600}");
    assertThat(answer.status()).isEqualTo(200);
    assertThat(answer.keys())
        .containsExactlyInAnyOrder("id", "timeout_seconds", "expires_at", "request_id");
    assertThat(Duration.between(before, Instant.parse(answer.text("expires_at"))))
        .isBetween(Duration.ofMillis(3_599_900), Duration.ofSeconds(3610));
    var got = control.call("GET", "/v1/sandboxes/" + id);
    assertThat(got.body().path("timeout_seconds").intValue()).isEqualTo(3600);
    assertThat(got.text("expires_at")).isEqualTo(answer.text("expires_at"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "null"})
  void timeoutOfNothingMeansNoExpiry(String value) {
    String id = create("{\"template_id\":\"1\",\"timeout_seconds\":1800}");
    var answer =
        control.call(
            "PUT", "/v1/sandboxes/" + id + "/timeout", "{\"timeout_seconds\":" + value + "}");
    assertThat(answer.status()).isEqualTo(200);
    assertThat(answer.body().path("expires_at").isNull()).isTrue();
    var got = control.call("GET", "/v1/sandboxes/" + id);
    assertThat(got.body().path("expires_at").isNull()).isTrue();
    assertThat(got.body().path("timeout_seconds").isNull()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{}",
        "{\"timeout_seconds\":-1}",
        "{\"timeout_seconds\":\"60\"}",
        "{\"timeout_seconds\":0.5}",
        "{\"timeout_seconds\":1000000000000}"
      })
  void badTimeoutsAreRefused(String body) {
    String id = create("{\"template_id\":\"1\",\"timeout_seconds\":1800}");
    var answer = control.call("PUT", "/v1/sandboxes/" + id + "/timeout", body);
    assertError(answer, 400, "INVALID_REQUEST");
    assertThat(answer.text("message")).contains("timeout_seconds");
    assertThat(control.call("GET", "/v1/sandboxes/" + id).body().path("timeout_seconds").intValue())
        .isEqualTo(1800);
  }

  @Test
  void refreshedTokensDifferEndLaterAndLeaveTheOldOnesValid() {
    var created = control.call("POST", "/v1/sandboxes", "{\"template_id\":\"1\"}");
    String id = created.text("id");
    String listed =
        control.call("GET", "/v1/sandboxes").body().path("data").get(0).path("id").stringValue();
    assertThat(listed).isEqualTo(id);
    String token = created.text("auth_token");
    String expires = created.text("token_expires_at");
    for (String path : List.of("/token/refresh", "/refresh", "/token/refresh")) {
      var answer = control.call("POST", "/v1/sandboxes/" + id + path);
      assertThat(answer.status()).isEqualTo(200);
      assertThat(answer.keys())
          .containsExactlyInAnyOrder("auth_token", "token_expires_at", "request_id");
      assertThat(answer.text("auth_token")).isNotEqualTo(token);
      assertThat(answer.text("token_expires_at")).isGreaterThan(expires);
      token = answer.text("auth_token");
      expires = answer.text("token_expires_at");
      assertThat(control.tokens.opens(token, id)).isTrue();
    }
    assertThat(control.tokens.opens(created.text("auth_token"), id)).isTrue();
  }

  @Test
  void resumeOfARunningSandboxIsFineWithAndWithoutABody() {
    String id = create();
    for (Optional<String> body :
        List.of(Optional.<String>empty(), Optional.of("{}"), Optional.of(""))) {
      var answer =
          control.call(
              "POST", "/v1/sandboxes/" + id + "/resume", body, "X-API-Key", control.adminKey);
      assertThat(answer.status()).isEqualTo(200);
      assertThat(answer.keys()).containsExactlyInAnyOrder("id", "status", "request_id");
      assertThat(answer.text("status")).isEqualTo("running");
    }
  }

  @Test
  void templateHasTheExactShape() {
    List<String> keys =
        List.of(
            "object",
            "id",
            "name",
            "display_name",
            "description",
            "category",
            "language",
            "icon",
            "status",
            "is_active",
            "is_public",
            "organization_id",
            "features",
            "tags",
            "default_resources",
            "min_resources",
            "max_resources",
            "popularity_score",
            "docs_url",
            "build_id",
            "created_at",
            "updated_at");
    var list = control.call("GET", "/v1/templates");
    assertThat(list.keys())
        .containsExactlyInAnyOrder(
            "object", "data", "has_more", "next_cursor", "url", "request_id");
    assertThat(list.body().path("data")).hasSize(3);
    for (JsonNode item : list.body().path("data")) {
      assertThat(item.propertyNames()).containsExactlyInAnyOrderElementsOf(keys);
      assertThat(item.path("id").isString()).isTrue();
      assertThat(item.path("features").isArray()).isTrue();
      assertThat(item.path("tags").isArray()).isTrue();
      assertThat(item.path("default_resources").toString())
          .isEqualTo("{\"vcpu\":2,\"memory_mb\":4096,\"disk_gb\":10}");
    }
    for (String reference : List.of("73", "code-interpreter")) {
      var one = control.call("GET", "/v1/templates/" + reference);
      assertThat(one.status()).isEqualTo(200);
      assertThat(one.text("id")).isEqualTo("73");
      assertThat(one.text("object")).isEqualTo("template");
      assertThat(one.text("status")).isEqualTo("active");
      assertThat(one.body().path("is_active").booleanValue()).isTrue();
      assertThat(one.body().has("request_id")).isTrue();
    }
    var slow = control.call("GET", "/v1/templates/slow");
    assertThat(slow.text("status")).isEqualTo("pending");
    assertThat(slow.body().path("is_active").booleanValue()).isFalse();
  }

  @Test
  void templatesAreFilteredAndPaged() {
    control.catalog.add(FakeCatalog.template("90", "other", Optional.of("javascript"), true));
    assertThat(names("/v1/templates?language=python")).containsExactly("code-interpreter");
    assertThat(names("/v1/templates?language=javascript")).containsExactly("other");
    assertThat(names("/v1/templates?category=development")).hasSize(4);
    assertThat(names("/v1/templates?category=nothing")).isEmpty();
    var first = control.call("GET", "/v1/templates?limit=3");
    assertThat(first.body().path("has_more").booleanValue()).isTrue();
    assertThat(names("/v1/templates?limit=3&cursor=" + first.text("next_cursor")))
        .containsExactly("other");
    assertError(control.call("GET", "/v1/templates?cursor=zzz"), 400, "INVALID_REQUEST");
  }

  @Test
  void thePythonSdkGetsErrorsAsAnObject() {
    var python =
        control.call(
            "GET",
            "/v1/sandboxes/unknown",
            Optional.empty(),
            "X-API-Key",
            control.adminKey,
            "User-Agent",
            "hopx-python/0.1.0");
    assertThat(python.status()).isEqualTo(404);
    JsonNode error = python.body().path("error");
    assertThat(error.propertyNames())
        .containsExactlyInAnyOrder("message", "code", "request_id", "details");
    assertThat(error.path("message").stringValue()).isEqualTo("Sandbox not found");
    assertThat(error.path("details").isObject()).isTrue();
    assertThat(python.text("message")).isEqualTo("Sandbox not found");
    assertThat(python.text("code")).isEqualTo("RESOURCE_NOT_FOUND");
    assertThat(python.text("request_id")).isEqualTo(error.path("request_id").stringValue());

    var others = control.call("GET", "/v1/sandboxes/unknown");
    assertThat(others.text("error")).isEqualTo("Sandbox not found");
    assertThat(others.keys())
        .containsExactlyInAnyOrder("error", "message", "code", "request_id", "details");
  }

  @Test
  void unknownRoutesAndMethodsAreAnsweredInJson() {
    for (String path : List.of("/", "/v1", "/v1/nothing", "/v2/sandboxes", "/v1/sandboxes/a/b/c")) {
      assertError(control.call("GET", path), 404, "RESOURCE_NOT_FOUND");
    }
    var answer = control.call("PATCH", "/v1/sandboxes", "{}");
    assertError(answer, 405, "METHOD_NOT_ALLOWED");
    assertThat(answer.headers().firstValue("Allow")).isPresent();
  }

  @Test
  void theSameIdempotencyKeyGivesTheSameAnswer() {
    var first = idempotent("k1", "{\"template_id\":\"1\",\"env_vars\":{\"A\":\"1\",\"B\":\"2\"}}");
    var second =
        idempotent("k1", "{\"env_vars\":{\"B\":\"2\",\"A\":\"1\"}, \"template_id\":\"1\"}");
    assertThat(first.status()).isEqualTo(201);
    assertThat(second.status()).isEqualTo(201);
    assertThat(withoutRequestId(second)).isEqualTo(withoutRequestId(first));
    assertThat(second.headers().firstValue("Idempotency-Replayed")).hasValue("true");
    assertThat(control.node.creations()).isEqualTo(1);

    var other = idempotent("k1", "{\"template_id\":\"1\",\"env_vars\":{\"A\":\"2\"}}");
    assertError(other, 409, "CONFLICT");
    assertThat(idempotent("k2", "{\"template_id\":\"1\"}").text("id"))
        .isNotEqualTo(first.text("id"));
  }

  @Test
  void idempotencyOutlivesARestartButNotADay() {
    var first = idempotent("k", "{\"template_id\":\"1\"}");
    control.restart();
    assertThat(withoutRequestId(idempotent("k", "{\"template_id\":\"1\"}")))
        .isEqualTo(withoutRequestId(first));
    control.clock.advance(CreateEndpoint.REMEMBERED.plusSeconds(1));
    assertThat(idempotent("k", "{\"template_id\":\"1\"}").text("id"))
        .isNotEqualTo(first.text("id"));
  }

  @Test
  void aFailedCreationDoesNotUseUpItsKey() {
    control.node.duringCreate(
        _ -> {
          throw new dev.hopx.node.NodeException("full");
        });
    assertThat(idempotent("k", "{\"template_id\":\"1\"}").status()).isEqualTo(503);
    control.node.duringCreate(_ -> {});
    assertThat(idempotent("k", "{\"template_id\":\"1\"}").status()).isEqualTo(201);
  }

  @Test
  void simultaneousRequestsWithOneKeyMakeOneSandbox() throws Exception {
    Set<String> ids = new HashSet<>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<ControlFixture.Answer>> answers = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        answers.add(threads.submit(() -> idempotent("k", "{\"template_id\":\"1\"}")));
      }
      for (Future<ControlFixture.Answer> answer : answers) {
        assertThat(answer.get().status()).isEqualTo(201);
        ids.add(answer.get().text("id"));
      }
    }
    assertThat(ids).hasSize(1);
    assertThat(control.node.creations()).isEqualTo(1);
  }

  @Test
  void idempotencyKeysHaveALimit() {
    assertThat(idempotent("k".repeat(255), "{\"template_id\":\"1\"}").status()).isEqualTo(201);
    assertError(idempotent("k".repeat(256), "{\"template_id\":\"1\"}"), 400, "INVALID_REQUEST");
    assertError(idempotent("a b", "{\"template_id\":\"1\"}"), 400, "INVALID_REQUEST");
  }

  /**
   * F13: fifty at once, ten of whose clients leave: forty live, and nothing of the others is left.
   */
  @Test
  void creationsWhoseClientLeftAreTakenBack() throws Exception {
    int aborts = 10;
    int stays = 40;
    CountDownLatch left = new CountDownLatch(aborts);
    AtomicInteger begun = new AtomicInteger();
    control.node.duringCreate(
        _ -> {
          begun.incrementAndGet();
          try {
            // No creation ends before all who leave have left, and their leaving has arrived.
            assertThat(left.await(10, TimeUnit.SECONDS)).isTrue();
            Thread.sleep(500);
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
        });
    Set<String> ids = new HashSet<>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<ControlFixture.Answer>> answers = new ArrayList<>();
      for (int i = 0; i < stays; i++) {
        answers.add(
            threads.submit(() -> control.call("POST", "/v1/sandboxes", "{\"template_id\":\"1\"}")));
      }
      List<Socket> sockets = new ArrayList<>();
      for (int i = 0; i < aborts; i++) {
        sockets.add(sendCreate("abort-" + i));
      }
      SandboxServiceTest.await(() -> begun.get() == stays + aborts);
      for (int i = 0; i < aborts; i++) {
        if (i % 2 == 0) {
          sockets.get(i).setSoLinger(true, 0);
        }
        sockets.get(i).close();
        left.countDown();
      }
      for (Future<ControlFixture.Answer> answer : answers) {
        assertThat(answer.get().status()).isEqualTo(201);
        ids.add(answer.get().text("id"));
      }
    }
    assertThat(ids).hasSize(stays);
    SandboxServiceTest.await(() -> control.node.list().size() == stays);
    assertThat(ids("/v1/sandboxes?limit=1000")).containsExactlyInAnyOrderElementsOf(ids);
    assertThat(control.endpoints.open().keySet()).isEqualTo(ids);

    // Nor is a lost answer remembered: whoever repeats the request gets a sandbox that lives.
    control.node.duringCreate(_ -> {});
    assertThat(ids).doesNotContain(idempotent("abort-0", "{\"template_id\":\"1\"}").text("id"));
  }

  private Socket sendCreate(String key) throws IOException {
    Socket socket = new Socket(control.address.getAddress(), control.address.getPort());
    String body = "{\"template_id\":\"1\"}";
    try {
      socket
          .getOutputStream()
          .write(
              ("POST /v1/sandboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: "
                      + control.adminKey
                      + "\r\nIdempotency-Key: "
                      + key
                      + "\r\nContent-Length: "
                      + body.length()
                      + "\r\n\r\n"
                      + body)
                  .getBytes(StandardCharsets.US_ASCII));
    } catch (SocketException e) {
      socket.close();
      throw e;
    }
    return socket;
  }

  private ControlFixture.Answer idempotent(String key, String body) {
    return control.call(
        "POST",
        "/v1/sandboxes",
        Optional.of(body),
        "X-API-Key",
        control.adminKey,
        "Idempotency-Key",
        key);
  }

  private static String environment(String value) {
    return "{\"template_id\":\"1\",\"env_vars\":{\"A\":\"" + value + "\"}}";
  }

  private static JsonNode withoutRequestId(ControlFixture.Answer answer) {
    return answer.body().asObject().deepCopy().without("request_id");
  }

  private String create() {
    return create("{\"template_id\":\"1\"}");
  }

  private String create(String body) {
    var answer = control.call("POST", "/v1/sandboxes", body);
    assertThat(answer.status()).isEqualTo(201);
    return answer.text("id");
  }

  private List<String> ids(String path) {
    List<String> ids = new ArrayList<>();
    control
        .call("GET", path)
        .body()
        .path("data")
        .forEach(item -> ids.add(item.path("id").stringValue()));
    return ids;
  }

  private List<String> names(String path) {
    List<String> names = new ArrayList<>();
    control
        .call("GET", path)
        .body()
        .path("data")
        .forEach(item -> names.add(item.path("name").stringValue()));
    return names;
  }

  private static void assertNoSandbox(ControlFixture.Answer answer) {
    assertError(answer, 404, "RESOURCE_NOT_FOUND");
    assertThat(answer.text("message")).isEqualTo("Sandbox not found");
  }

  /** Every error has its code, a text, an object of details and the request's id, twice. */
  private static void assertError(ControlFixture.Answer answer, int status, String code) {
    assertThat(answer.body().toString()).contains(code);
    assertThat(answer.status()).isEqualTo(status);
    assertThat(answer.text("code")).isEqualTo(code);
    assertThat(answer.text("message")).isNotBlank();
    assertThat(answer.body().path("details").isObject()).isTrue();
    assertThat(answer.text("request_id")).startsWith("req_");
    assertThat(answer.headers().firstValue("X-Request-ID")).hasValue(answer.text("request_id"));
  }
}
