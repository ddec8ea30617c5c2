package dev.hopx.server;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.LoggingEvent;
import dev.hopx.http.Json;
import dev.hopx.server.Configuration.LogFormat;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.slf4j.event.KeyValuePair;
import tools.jackson.databind.JsonNode;

final class LogEncoderTest {
  private static final Logger LOGGER = new LoggerContext().getLogger("dev.hopx.http.access");

  @Test
  void textIsOneLine() {
    assertThat(encode(LogFormat.TEXT, event("a\nb\u001b[31m", null)))
        .isEqualTo(
            "2026-01-01T00:00:00.123Z INFO  access: a\\nb\\u001b[31m request_id=req_1 status=200\n");
  }

  @Test
  void textCarriesTheTrace() {
    assertThat(encode(LogFormat.TEXT, event("x", new IllegalStateException("why"))))
        .contains("java.lang.IllegalStateException: why\n\tat dev.hopx.server.LogEncoderTest");
  }

  @Test
  void jsonIsOneObjectALine() {
    String line = encode(LogFormat.JSON, event("a\n\"b\"", new IllegalStateException("why")));
    assertThat(line).endsWith("\n").containsOnlyOnce("\n");
    JsonNode json = Json.mapper().readTree(line);
    assertThat(json.path("time").stringValue("")).isEqualTo("2026-01-01T00:00:00.123Z");
    assertThat(json.path("level").stringValue("")).isEqualTo("INFO");
    assertThat(json.path("message").stringValue("")).isEqualTo("a\n\"b\"");
    assertThat(json.path("request_id").stringValue("")).isEqualTo("req_1");
    assertThat(json.path("status").intValue(0)).isEqualTo(200);
    assertThat(json.path("exception").stringValue("")).contains("IllegalStateException: why");
  }

  @Test
  void secretsAreCutOut() {
    String key = "hopx_live_abcdefghijkl." + "S".repeat(43);
    String token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLXNpZ25hdHVyZQ";
    String message = "key " + key + " token " + token + " url /files?token=abc$1&path=/x";
    for (LogFormat format : LogFormat.values()) {
      assertThat(encode(format, event(message, new IllegalStateException(key))))
          .doesNotContain("SSSS")
          .doesNotContain("eyJzdWIi")
          .doesNotContain("abc$1")
          .contains("hopx_live_abcdefghijkl.…", "?token=…&path=/x");
    }
  }

  private static String encode(LogFormat format, LoggingEvent event) {
    return new String(new LogEncoder(format).encode(event), StandardCharsets.UTF_8);
  }

  private static LoggingEvent event(String message, @Nullable Throwable failure) {
    LoggingEvent event =
        new LoggingEvent(
            LogEncoderTest.class.getName(), LOGGER, Level.INFO, message, failure, new Object[0]);
    event.setInstant(Instant.parse("2026-01-01T00:00:00.123Z"));
    event.addKeyValuePair(new KeyValuePair("request_id", "req_1"));
    event.addKeyValuePair(new KeyValuePair("status", 200));
    return event;
  }
}
