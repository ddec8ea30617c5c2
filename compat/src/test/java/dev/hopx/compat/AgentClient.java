package dev.hopx.compat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** One sandbox's agent over plain HTTP. */
record AgentClient(HttpClient http, String id, String url, String token) {
  HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create(url + path))
        .header("Authorization", "Bearer " + token);
  }

  Reply send(HttpRequest request) {
    try {
      HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
      return new Reply(response.statusCode(), response.headers(), response.body());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("Interrupted", e);
    }
  }

  Reply get(String path) {
    return send(request(path).build());
  }

  Reply post(String path, Map<String, ?> body) {
    String text = RunningServer.json().writeValueAsString(body);
    return send(request(path).POST(HttpRequest.BodyPublishers.ofString(text)).build());
  }

  /** A shell line, the documented way. */
  Reply shell(String line) {
    return post("/commands/run", Map.of("command", line, "timeout", 60));
  }

  Reply write(String path, String content) {
    return post("/files/write", Map.of("path", path, "content", content));
  }

  Reply read(String path) {
    return get("/files/read?path=" + URLEncoder.encode(path, StandardCharsets.UTF_8));
  }
}
