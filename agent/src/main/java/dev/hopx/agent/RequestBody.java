package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.api.Variables;
import dev.hopx.http.HttpExchange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * The fields of a JSON request, checked. A field that is null counts as absent (clients send null
 * working directories); one of another type is 400 with the field's name.
 */
final class RequestBody {
  /** Shortest time-out (decision 20). */
  static final Duration MIN_TIMEOUT = Duration.ofSeconds(1);

  /** Longer ones are this: no sandbox lives longer. */
  static final Duration MAX_TIMEOUT = Duration.ofDays(36_500);

  private final ObjectNode body;

  RequestBody(ObjectNode body) {
    this.body = body;
  }

  static RequestBody of(HttpExchange exchange) {
    return new RequestBody(exchange.jsonBody());
  }

  /** Text that must be there; it may be empty. */
  String required(String field) {
    return text(field).orElseThrow(() -> missing(field));
  }

  static ApiException missing(String field) {
    return new ApiException(
        ErrorCode.INVALID_REQUEST,
        "Invalid request: missing required field '" + field + "'",
        Map.of("field", field));
  }

  /** The first of {@code fields} (aliases of one thing) that is there. */
  Optional<String> text(String... fields) {
    for (String field : fields) {
      JsonNode value = body.get(field);
      if (isAbsent(value)) {
        continue;
      }
      if (!value.isString()) {
        throw ApiException.invalidField(field, "must be a string");
      }
      return Optional.of(value.stringValue());
    }
    return Optional.empty();
  }

  Optional<Boolean> flag(String field) {
    JsonNode value = body.get(field);
    if (isAbsent(value)) {
      return Optional.empty();
    }
    if (!value.isBoolean()) {
      throw ApiException.invalidField(field, "must be true or false");
    }
    return Optional.of(value.booleanValue());
  }

  /** A list of strings; empty when absent. */
  List<String> texts(String field) {
    JsonNode value = body.get(field);
    if (isAbsent(value)) {
      return List.of();
    }
    if (!value.isArray()) {
      throw ApiException.invalidField(field, "must be an array of strings");
    }
    List<String> texts = new ArrayList<>();
    for (JsonNode element : value) {
      if (!element.isString()) {
        throw ApiException.invalidField(field, "must be an array of strings");
      }
      texts.add(element.stringValue());
    }
    return texts;
  }

  boolean has(String field) {
    return !isAbsent(body.get(field));
  }

  /** Variables, checked by {@link Variables}; empty when absent. */
  Map<String, String> variables(String field) {
    JsonNode value = body.get(field);
    if (isAbsent(value)) {
      return Map.of();
    }
    if (!value.isObject()) {
      throw ApiException.invalidField(field, "must be an object of strings");
    }
    Map<String, String> variables = new LinkedHashMap<>();
    for (Map.Entry<String, JsonNode> entry : value.properties()) {
      if (!entry.getValue().isString()) {
        throw ApiException.invalidField(
            field, "the value of '" + entry.getKey() + "' must be a string");
      }
      Variables.check(field, entry.getKey(), entry.getValue().stringValue());
      variables.put(entry.getKey(), entry.getValue().stringValue());
    }
    return variables;
  }

  /** Seconds, whole or not. */
  Duration timeout(Duration standard) {
    JsonNode value = body.get("timeout");
    if (isAbsent(value)) {
      return standard;
    }
    if (!value.isNumber()) {
      throw ApiException.invalidField("timeout", "must be a number of seconds");
    }
    double seconds = value.doubleValue();
    if (!(seconds >= MIN_TIMEOUT.toSeconds())) {
      throw ApiException.invalidField("timeout", "must be at least 1 second");
    }
    if (seconds >= MAX_TIMEOUT.toSeconds()) {
      return MAX_TIMEOUT;
    }
    return Duration.ofMillis(Math.round(seconds * 1000));
  }

  private static boolean isAbsent(@Nullable JsonNode value) {
    return value == null || value.isNull() || value.isMissingNode();
  }
}
