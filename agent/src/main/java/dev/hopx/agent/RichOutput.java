package dev.hopx.agent;

import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Something a run has shown beside its text (decision 16).
 *
 * @param type MIME type of its best form
 * @param data all its forms by MIME type
 * @param extra further fields of the item: a chart as data, a table as data
 */
record RichOutput(
    String type, JsonNode data, JsonNode metadata, Map<String, JsonNode> extra, Instant timestamp) {
  /** Forms that have a field of their own at the top level of a response. */
  private static final Map<String, String> TOP_FIELDS =
      Map.of(
          "image/png", "png",
          "text/html", "html",
          "image/svg+xml", "svg",
          "text/markdown", "markdown",
          "text/latex", "latex",
          "application/json", "json");

  private static final String DATAFRAME = "dataframe";

  private static final Set<String> EXTRA = Set.of("chart", DATAFRAME);

  /** Of what an interpreter has answered; empty when it is none. */
  static Optional<RichOutput> parse(JsonNode answer) {
    JsonNode type = answer.get("type");
    JsonNode data = answer.get("data");
    JsonNode metadata = answer.get("metadata");
    if (!isText(type) || !isObject(data) || !isObject(metadata) || !data.has(type.stringValue())) {
      return Optional.empty();
    }
    Map<String, JsonNode> extra = new LinkedHashMap<>();
    for (String name : EXTRA) {
      if (isObject(answer.get(name))) {
        extra.put(name, answer.get(name));
      }
    }
    return Optional.of(new RichOutput(type.stringValue(), data, metadata, extra, Instant.now()));
  }

  private static boolean isText(@Nullable JsonNode node) {
    return node != null && node.isString();
  }

  private static boolean isObject(@Nullable JsonNode node) {
    return node != null && node.isObject();
  }

  void describeTop(Map<String, Object> reply) {
    TOP_FIELDS.forEach(
        (mime, field) -> {
          JsonNode value = data.get(mime);
          if (value != null && !value.isNull()) {
            reply.put(field, value);
          }
        });
    JsonNode table = extra.get(DATAFRAME);
    if (table != null) {
      reply.put(DATAFRAME, table);
    }
  }

  Map<String, Object> describe() {
    Map<String, Object> item = new LinkedHashMap<>();
    item.put("type", type);
    boolean binary = type.startsWith("image/") && !type.endsWith("+xml");
    item.put("format", binary ? "base64" : "text");
    item.put("data", data);
    item.put("metadata", metadata);
    item.put("timestamp", timestamp);
    item.putAll(extra);
    return item;
  }
}
