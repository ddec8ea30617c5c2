package dev.hopx.http;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PushbackInputStream;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.regex.Pattern;
import tools.jackson.core.JacksonException;
import tools.jackson.core.exc.JacksonIOException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.databind.node.StringNode;

/** Reads a JSON object from a request body. */
final class JsonBody {
  /** A remark on where the source is, which only this program's programmer understands. */
  private static final Pattern SOURCE =
      Pattern.compile("\\s*\\(start marker at \\[Source:.*?\\]\\)");

  private JsonBody() {}

  /**
   * Reads the object.
   *
   * @param length declared bytes, below 0 when unknown
   * @param limit highest number of bytes
   */
  static ObjectNode read(InputStream body, long length, long limit) {
    if (length > limit) {
      throw tooLarge(limit);
    }
    try {
      PushbackInputStream bounded = new PushbackInputStream(new BoundedInput(body, limit));
      int first = bounded.read();
      if (first < 0) {
        return JsonNodeFactory.instance.objectNode();
      }
      bounded.unread(first);
      return parse(bounded);
    } catch (CharacterCodingException invalid) {
      throw invalid("it is not UTF-8", invalid);
    } catch (IOException gone) {
      throw new UncheckedIOException("The body did not arrive", gone);
    }
  }

  private static ObjectNode parse(InputStream body) throws IOException {
    // A strict decoder in front: Jackson's own would accept UTF-16 and some broken UTF-8.
    Reader text = new InputStreamReader(body, StandardCharsets.UTF_8.newDecoder());
    JsonNode node;
    try {
      node = Json.mapper().readTree(text);
    } catch (JacksonIOException wrapped) {
      throw wrapped.getCause();
    } catch (JacksonException invalid) {
      throw invalid(describe(invalid), invalid);
    }
    if (node instanceof ObjectNode object) {
      checkText(object, "");
      return object;
    }
    if (node.isMissingNode()) {
      return JsonNodeFactory.instance.objectNode();
    }
    throw new ApiException(ErrorCode.INVALID_JSON, "Invalid JSON: the body must be an object");
  }

  /**
   * Refuses half a surrogate pair, which JSON can escape and UTF-8 cannot express: it would be
   * accepted here and fail, or become another text, wherever it is used.
   */
  private static void checkText(JsonNode node, String field) {
    switch (node) {
      case ObjectNode object ->
          object
              .properties()
              .forEach(
                  entry ->
                      checkText(
                          entry.getValue(),
                          field.isEmpty() ? entry.getKey() : field + "." + entry.getKey()));
      case ArrayNode array -> array.forEach(element -> checkText(element, field));
      case StringNode text -> {
        if (!isWellFormed(text.stringValue())) {
          throw new ApiException(
              ErrorCode.INVALID_JSON,
              "Invalid JSON: " + field + " holds half a surrogate pair, which is no character",
              Map.of("field", field));
        }
      }
      default -> {}
    }
  }

  private static boolean isWellFormed(String text) {
    for (int index = 0; index < text.length(); index++) {
      if (Character.isSurrogate(text.charAt(index))) {
        if (index + 1 == text.length()
            || !Character.isSurrogatePair(text.charAt(index), text.charAt(index + 1))) {
          return false;
        }
        index++;
      }
    }
    return true;
  }

  /** The parser's own sentence and place. */
  private static String describe(JacksonException invalid) {
    String message = SOURCE.matcher(String.valueOf(invalid.getOriginalMessage())).replaceAll("");
    if (invalid.getLocation() == null || invalid.getLocation().getLineNr() < 1) {
      return message;
    }
    return "%s (line %d, column %d)"
        .formatted(message, invalid.getLocation().getLineNr(), invalid.getLocation().getColumnNr());
  }

  private static ApiException invalid(String why, Throwable cause) {
    return new ApiException(ErrorCode.INVALID_JSON, "Invalid JSON: " + why, Map.of(), cause);
  }

  static ApiException tooLarge(long limit) {
    return new ApiException(
        ErrorCode.PAYLOAD_TOO_LARGE,
        "The body is larger than the limit of " + limit + " bytes",
        Map.of("limit", limit));
  }

  /** Throws once more than {@code limit} bytes came. */
  private static final class BoundedInput extends InputStream {
    private final InputStream input;
    private final long limit;
    private long count;

    BoundedInput(InputStream input, long limit) {
      this.input = input;
      this.limit = limit;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      int read = input.read(bytes, offset, length);
      if (read > 0) {
        count += read;
        if (count > limit) {
          throw tooLarge(limit);
        }
      }
      return read;
    }
  }
}
