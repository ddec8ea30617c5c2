package dev.hopx.server;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.encoder.EncoderBase;
import dev.hopx.http.Json;
import dev.hopx.server.Configuration.LogFormat;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.event.KeyValuePair;

/** Writes events as text or as JSON, one line each (a text line may be followed by a trace). */
final class LogEncoder extends EncoderBase<ILoggingEvent> {
  private static final int LEVEL_WIDTH = 5;

  private final LogFormat format;

  LogEncoder(LogFormat format) {
    this.format = format;
  }

  @Override
  public byte[] headerBytes() {
    return new byte[0];
  }

  @Override
  public byte[] footerBytes() {
    return new byte[0];
  }

  @Override
  public byte[] encode(ILoggingEvent event) {
    String line =
        switch (format) {
          case TEXT -> text(event);
          case JSON -> json(event);
        };
    return Redaction.apply(line).getBytes(StandardCharsets.UTF_8);
  }

  private static String text(ILoggingEvent event) {
    StringBuilder line = new StringBuilder(Json.format(time(event)));
    String level = event.getLevel().toString();
    line.append(' ').append(level).repeat(' ', LEVEL_WIDTH - level.length() + 1);
    line.append(shortName(event.getLoggerName())).append(": ");
    line.append(oneLine(event.getFormattedMessage()));
    for (KeyValuePair pair : pairs(event)) {
      line.append(' ').append(pair.key).append('=').append(oneLine(String.valueOf(pair.value)));
    }
    line.append('\n');
    if (event.getThrowableProxy() != null) {
      line.append(ThrowableProxyUtil.asString(event.getThrowableProxy())).append('\n');
    }
    return line.toString();
  }

  private static String json(ILoggingEvent event) {
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("time", time(event));
    line.put("level", event.getLevel().toString());
    line.put("logger", event.getLoggerName());
    line.put("message", event.getFormattedMessage());
    for (KeyValuePair pair : pairs(event)) {
      line.putIfAbsent(pair.key, pair.value instanceof Number ? pair.value : "" + pair.value);
    }
    if (event.getThrowableProxy() != null) {
      line.put("exception", ThrowableProxyUtil.asString(event.getThrowableProxy()));
    }
    return Json.mapper().writeValueAsString(line) + "\n";
  }

  private static Instant time(ILoggingEvent event) {
    return event.getInstant() == null
        ? Instant.ofEpochMilli(event.getTimeStamp())
        : event.getInstant();
  }

  private static List<KeyValuePair> pairs(ILoggingEvent event) {
    List<KeyValuePair> pairs = event.getKeyValuePairs();
    return pairs == null ? List.of() : pairs;
  }

  private static String shortName(String logger) {
    return logger.substring(logger.lastIndexOf('.') + 1);
  }

  /** Keeps what a client sent from looking like a line of the log's own. */
  private static String oneLine(String text) {
    if (text.chars().noneMatch(Character::isISOControl)) {
      return text;
    }
    StringBuilder line = new StringBuilder();
    text.chars()
        .forEach(
            character -> {
              if (character == '\n') {
                line.append("\\n");
              } else if (Character.isISOControl(character)) {
                line.append("\\u%04x".formatted(character));
              } else {
                line.append((char) character);
              }
            });
    return line.toString();
  }
}
