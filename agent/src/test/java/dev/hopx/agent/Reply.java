package dev.hopx.agent;

import dev.hopx.http.Json;
import java.net.http.HttpHeaders;
import java.nio.charset.StandardCharsets;
import tools.jackson.databind.JsonNode;

/** A response as a client sees it. */
final class Reply {
  private final int status;
  private final HttpHeaders headers;
  private final byte[] bytes;

  Reply(int status, HttpHeaders headers, byte[] bytes) {
    this.status = status;
    this.headers = headers;
    this.bytes = bytes;
  }

  int status() {
    return status;
  }

  HttpHeaders headers() {
    return headers;
  }

  byte[] bytes() {
    return bytes;
  }

  String body() {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  JsonNode json() {
    return Json.mapper().readTree(bytes);
  }

  String text(String field) {
    JsonNode value = json().get(field);
    if (value == null) {
      throw new AssertionError("No field " + field + " in " + body());
    }
    return value.asString();
  }

  int number(String field) {
    return json().get(field).intValue();
  }

  boolean flag(String field) {
    return json().get(field).booleanValue();
  }
}
