package dev.hopx.http;

/** Answers the requests of one listening port; see {@link Router#handler}. */
@FunctionalInterface
public interface HttpHandler {
  void handle(HttpExchange exchange) throws Exception;
}
