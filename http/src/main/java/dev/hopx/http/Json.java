package dev.hopx.http;

import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.SerializationContext;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.module.SimpleModule;
import tools.jackson.databind.ser.std.StdSerializer;

/**
 * The one JSON mapper. It reads strictly (RFC 8259: no duplicate keys, nothing after the value, at
 * most {@link #MAX_DEPTH} levels) and writes instants as RFC 3339 with {@code Z} and milliseconds.
 */
public final class Json {
  /** Levels of nesting that a body may have. */
  public static final int MAX_DEPTH = 200;

  /** Digits of a number; longer ones would take quadratic time to convert. */
  static final int MAX_NUMBER_LENGTH = 1000;

  /** Characters of a key. */
  static final int MAX_NAME_LENGTH = 65_536;

  private static final DateTimeFormatter INSTANT =
      DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC);

  private static final JsonMapper MAPPER =
      JsonMapper.builder(
              JsonFactory.builder()
                  .streamReadConstraints(
                      StreamReadConstraints.builder()
                          .maxNestingDepth(MAX_DEPTH)
                          .maxNumberLength(MAX_NUMBER_LENGTH)
                          .maxNameLength(MAX_NAME_LENGTH)
                          // The body's own limit bounds strings.
                          .maxStringLength(Integer.MAX_VALUE)
                          .build())
                  .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                  .build())
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
          .disable(SerializationFeature.FAIL_ON_EMPTY_BEANS)
          .addModule(new SimpleModule().addSerializer(new InstantSerializer()))
          .build();

  private Json() {}

  public static JsonMapper mapper() {
    return MAPPER;
  }

  /** {@code 2026-01-31T23:59:59.123Z}. */
  public static String format(Instant instant) {
    return INSTANT.format(instant);
  }

  private static final class InstantSerializer extends StdSerializer<Instant> {
    InstantSerializer() {
      super(Instant.class);
    }

    @Override
    public void serialize(Instant value, JsonGenerator generator, SerializationContext context) {
      generator.writeString(format(value));
    }
  }
}
