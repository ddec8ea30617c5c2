package dev.hopx.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The API of the server under test, over plain HTTP/1.1 with kept connections. */
final class Service {
  private static final JsonMapper JSON = new JsonMapper();

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final String baseUrl;
  private final String apiKey;

  Service(String baseUrl, String apiKey) {
    this.baseUrl = baseUrl;
    this.apiKey = apiKey;
  }

  Box create(String template) {
    JsonNode answer =
        send(
            HttpRequest.newBuilder(URI.create(baseUrl + "/v1/sandboxes"))
                .header("X-API-Key", apiKey)
                .POST(body(Map.of("template_name", template)))
                .build());
    return new Box(
        answer.get("id").asString(),
        answer.get("public_host").asString(),
        answer.get("auth_token").asString());
  }

  void delete(Box box) {
    send(
        HttpRequest.newBuilder(URI.create(baseUrl + "/v1/sandboxes/" + box.id()))
            .header("X-API-Key", apiKey)
            .DELETE()
            .build());
  }

  JsonNode call(Box box, String path, Map<String, ?> body) {
    return send(
        HttpRequest.newBuilder(URI.create(box.url() + path))
            .header("Authorization", "Bearer " + box.token())
            .POST(body(body))
            .build());
  }

  private static HttpRequest.BodyPublisher body(Map<String, ?> body) {
    return HttpRequest.BodyPublishers.ofString(JSON.writeValueAsString(body));
  }

  private JsonNode send(HttpRequest request) {
    try {
      HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
      if (response.statusCode() >= 300) {
        throw new IllegalStateException(
            request.uri() + " answered " + response.statusCode() + ": " + response.body());
      }
      return JSON.readTree(response.body());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted", e);
    }
  }

  /** A sandbox and how to reach its agent. */
  record Box(String id, String url, String token) {}
}
