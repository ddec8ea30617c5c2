package dev.hopx.http;

import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * One request and its response. Exactly one {@code send…} method is called; a handler that returns
 * without one answers 500. Used by the one thread that handles the request, except {@link
 * #onDisconnect}'s callback.
 */
public interface HttpExchange {
  /** {@code req_…}, also in the response header {@code X-Request-ID} and in error bodies. */
  String requestId();

  /** GET for a HEAD request, whose response body is dropped. */
  HttpMethod method();

  /** The method as sent, e.g. {@code HEAD}, also when no route knows it. */
  default String methodName() {
    return method().name();
  }

  /** Path as sent, still percent-encoded, without the query. */
  String rawPath();

  /** Value of a {@code {name}} segment of the route, percent-decoded. */
  String pathParameter(String name);

  /** First value of a query parameter, percent-decoded as UTF-8 ({@code +} is a blank). */
  Optional<String> queryParameter(String name);

  Optional<String> header(String name);

  /** Value of an {@code Authorization: Bearer} header. */
  Optional<String> bearerToken();

  /** The other end's address, for the log. */
  String remoteAddress();

  /**
   * The body as a JSON object. An empty body gives an empty object (clients send a JSON content
   * type without a body).
   *
   * @throws dev.hopx.api.ApiException {@code INVALID_JSON} when it does not parse or is no object,
   *     {@code PAYLOAD_TOO_LARGE} above the configured limit (default 64 MiB)
   */
  ObjectNode jsonBody();

  /** The body as it comes, without a limit. */
  InputStream bodyStream();

  /**
   * The parts of a {@code multipart/form-data} body in their order; each part's content must be
   * read before the next one is asked for. Flat memory.
   */
  MultipartReader multipart();

  /** Adds a response header; before {@code send…}. */
  void responseHeader(String name, String value);

  /**
   * Sends a JSON body: a {@link JsonNode}, map, list or record. Null values of records are sent.
   *
   * @throws java.io.UncheckedIOException when the client is gone
   */
  void sendJson(int status, Object body);

  /** Sends text; fails as {@link #sendJson} does. */
  void sendText(int status, String contentType, String text);

  /**
   * Starts a streamed response and gives its body; {@code length} below 0 when unknown (chunked).
   * The caller closes the stream when it is complete; leaving it open on failure cuts the
   * connection, so that the client sees that it is incomplete.
   */
  OutputStream sendStream(int status, String contentType, long length);

  /** True once {@code send…} was called. */
  boolean isCommitted();

  /**
   * Runs {@code action} once if the client goes away before the response is complete (foreground
   * work dies with its caller). Call it after the body was read. The action runs on another virtual
   * thread. Close the returned watch when the work is done.
   */
  DisconnectWatch onDisconnect(Runnable action);

  /** Query parameters in their order, for logging and validation. */
  Map<String, List<String>> queryParameters();

  /** See {@link #onDisconnect}. */
  interface DisconnectWatch extends AutoCloseable {
    @Override
    void close();
  }
}
