package dev.hopx.http;

import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.node.ObjectNode;

/** An exchange with the path parameters of its route. */
final class RoutedExchange implements HttpExchange {
  private final HttpExchange exchange;
  private final Map<String, String> pathParameters;

  RoutedExchange(HttpExchange exchange, Map<String, String> pathParameters) {
    this.exchange = exchange;
    this.pathParameters = Map.copyOf(pathParameters);
  }

  @Override
  public String pathParameter(String name) {
    String value = pathParameters.get(name);
    if (value == null) {
      throw new IllegalArgumentException("The route has no parameter " + name);
    }
    return value;
  }

  @Override
  public String requestId() {
    return exchange.requestId();
  }

  @Override
  public HttpMethod method() {
    return exchange.method();
  }

  @Override
  public String methodName() {
    return exchange.methodName();
  }

  @Override
  public String rawPath() {
    return exchange.rawPath();
  }

  @Override
  public Optional<String> queryParameter(String name) {
    return exchange.queryParameter(name);
  }

  @Override
  public Map<String, List<String>> queryParameters() {
    return exchange.queryParameters();
  }

  @Override
  public Optional<String> header(String name) {
    return exchange.header(name);
  }

  @Override
  public Optional<String> bearerToken() {
    return exchange.bearerToken();
  }

  @Override
  public String remoteAddress() {
    return exchange.remoteAddress();
  }

  @Override
  public ObjectNode jsonBody() {
    return exchange.jsonBody();
  }

  @Override
  public InputStream bodyStream() {
    return exchange.bodyStream();
  }

  @Override
  public MultipartReader multipart() {
    return exchange.multipart();
  }

  @Override
  public void responseHeader(String name, String value) {
    exchange.responseHeader(name, value);
  }

  @Override
  public void sendJson(int status, Object body) {
    exchange.sendJson(status, body);
  }

  @Override
  public void sendText(int status, String contentType, String text) {
    exchange.sendText(status, contentType, text);
  }

  @Override
  public OutputStream sendStream(int status, String contentType, long length) {
    return exchange.sendStream(status, contentType, length);
  }

  @Override
  public boolean isCommitted() {
    return exchange.isCommitted();
  }

  @Override
  public DisconnectWatch onDisconnect(Runnable action) {
    return exchange.onDisconnect(action);
  }
}
