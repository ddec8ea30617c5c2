package dev.hopx.agent;

import dev.hopx.http.HttpExchange;
import dev.hopx.http.Json;
import java.io.IOException;
import java.io.OutputStream;
import tools.jackson.core.JsonGenerator;

/** Sends a large JSON object while it is made, so that it is never in memory as a whole. */
final class StreamedJson {
  private static final String CONTENT_TYPE = "application/json";

  private StreamedJson() {}

  /** Writes the fields of an object. */
  @FunctionalInterface
  interface Fields {
    void write(JsonGenerator generator) throws IOException;
  }

  static void send(HttpExchange exchange, Fields fields) throws IOException {
    // Closed only when complete: otherwise the connection is cut and the client notices.
    OutputStream body = exchange.sendStream(200, CONTENT_TYPE, -1);
    JsonGenerator generator = Json.mapper().createGenerator(body);
    generator.writeStartObject();
    fields.write(generator);
    generator.writeEndObject();
    generator.close();
    body.close();
  }
}
