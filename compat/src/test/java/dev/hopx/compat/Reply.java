package dev.hopx.compat;

import java.net.http.HttpHeaders;
import tools.jackson.databind.JsonNode;

/** An HTTP response. */
record Reply(int status, HttpHeaders headers, String body) {
  JsonNode json() {
    return RunningServer.json().readTree(body);
  }

  String text(String field) {
    return json().path(field).asString("");
  }
}
