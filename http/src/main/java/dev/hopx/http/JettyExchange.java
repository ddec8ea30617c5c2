package dev.hopx.http;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/**
 * A request of Jetty. Owns Jetty's callback: {@link #close()} completes it, or fails it, which cuts
 * the connection, when the response did not come to its end.
 */
final class JettyExchange implements HttpExchange, AutoCloseable {
  /**
   * Bytes of an unread body that are read after the response, so that a client that sends first and
   * reads then sees the response and not a reset connection.
   */
  static final long MAX_DRAIN = 256L << 20;

  static final Duration MAX_DRAIN_TIME = Duration.ofSeconds(10);

  private static final String BEARER = "bearer ";
  private static final int DRAIN_BUFFER = 64 << 10;

  private final Request request;
  private final Response response;
  private final Callback callback;
  private final PortEndPoint endPoint;
  private final HttpServerOptions options;
  private final String requestId = RequestIds.next();
  private @Nullable InputStream body;
  private @Nullable Map<String, List<String>> query;
  private @Nullable PeerWatch watch;
  private @Nullable Throwable failure;
  private boolean committed;
  private boolean complete;
  private boolean clientGone;

  JettyExchange(
      Request request,
      Response response,
      Callback callback,
      PortEndPoint endPoint,
      HttpServerOptions options) {
    this.request = request;
    this.response = response;
    this.callback = callback;
    this.endPoint = endPoint;
    this.options = options;
    response.getHeaders().put(JsonErrorHandler.REQUEST_ID, requestId);
  }

  @Override
  public String requestId() {
    return requestId;
  }

  @Override
  public HttpMethod method() {
    String name = methodName();
    return HttpMethod.valueOf(name.equals("HEAD") ? "GET" : name);
  }

  @Override
  public String methodName() {
    return request.getMethod();
  }

  @Override
  public String rawPath() {
    String path = request.getHttpURI().getPath();
    return path == null ? "/" : path;
  }

  /** Refuses paths that do not decode to plain text or could be read in two ways. */
  void checkPath() {
    for (String segment : rawPath().split("/", -1)) {
      String decoded = PercentCoding.decodeSegment(segment);
      if (decoded.equals(".") || decoded.equals("..")) {
        throw new ApiException(ErrorCode.INVALID_REQUEST, "The URL's path has a dot segment");
      }
      if (decoded.chars().anyMatch(Character::isISOControl)) {
        throw new ApiException(ErrorCode.INVALID_REQUEST, "The URL's path has a control character");
      }
    }
  }

  @Override
  public String pathParameter(String name) {
    throw new IllegalArgumentException("The route has no parameter " + name);
  }

  @Override
  public Optional<String> queryParameter(String name) {
    List<String> values = queryParameters().get(name);
    return values == null ? Optional.empty() : Optional.of(values.getFirst());
  }

  @Override
  public Map<String, List<String>> queryParameters() {
    if (query == null) {
      String text = request.getHttpURI().getQuery();
      query = text == null ? Map.of() : PercentCoding.decodeQuery(text);
    }
    return query;
  }

  @Override
  public Optional<String> header(String name) {
    return Optional.ofNullable(request.getHeaders().get(name));
  }

  @Override
  public Optional<String> bearerToken() {
    return header("Authorization")
        .filter(value -> value.toLowerCase(Locale.ROOT).startsWith(BEARER))
        .map(value -> value.substring(BEARER.length()).strip())
        .filter(value -> !value.isEmpty());
  }

  @Override
  public String remoteAddress() {
    SocketAddress address = endPoint.getRemoteSocketAddress();
    return address instanceof InetSocketAddress internet
        ? internet.getAddress().getHostAddress()
        : String.valueOf(address);
  }

  int localPort() {
    return endPoint.port().address().getPort();
  }

  int status() {
    return response.getStatus();
  }

  @Override
  public ObjectNode jsonBody() {
    return JsonBody.read(bodyStream(), request.getLength(), options.maxJsonBody());
  }

  @Override
  public InputStream bodyStream() {
    if (body == null) {
      body = new RequestBody(Content.Source.asInputStream(request));
    }
    return body;
  }

  @Override
  public MultipartReader multipart() {
    return MultipartBody.open(header("Content-Type").orElse(""), bodyStream());
  }

  @Override
  public void responseHeader(String name, String value) {
    response.getHeaders().add(name, value);
  }

  @Override
  public void sendJson(int status, Object value) {
    byte[] bytes;
    try {
      bytes = Json.mapper().writeValueAsBytes(value);
    } catch (RuntimeException unwritable) {
      throw new IllegalStateException("The response cannot be written as JSON", unwritable);
    }
    send(status, JsonErrorHandler.JSON, bytes);
  }

  @Override
  public void sendText(int status, String contentType, String text) {
    send(status, contentType, text.getBytes(StandardCharsets.UTF_8));
  }

  private void send(int status, String contentType, byte[] bytes) {
    begin(status, contentType);
    response.getHeaders().put(HttpHeader.CONTENT_LENGTH, bytes.length);
    try {
      Content.Sink.write(response, true, ByteBuffer.wrap(bytes));
      complete = true;
    } catch (IOException gone) {
      clientGone = true;
      failure = gone;
      throw new UncheckedIOException("The client did not take the response", gone);
    }
  }

  @Override
  public OutputStream sendStream(int status, String contentType, long length) {
    begin(status, contentType);
    if (length >= 0) {
      response.getHeaders().put(HttpHeader.CONTENT_LENGTH, length);
    }
    return new ResponseStream(Content.Sink.asOutputStream(response));
  }

  private void begin(int status, String contentType) {
    if (committed) {
      throw new IllegalStateException("The request has been answered already");
    }
    committed = true;
    response.setStatus(status);
    response.getHeaders().put(new HttpField(HttpHeader.CONTENT_TYPE, contentType));
  }

  @Override
  public boolean isCommitted() {
    return committed;
  }

  @Override
  public DisconnectWatch onDisconnect(Runnable action) {
    if (watch != null) {
      watch.close();
    }
    PeerWatch started = PeerWatch.start(endPoint, action);
    watch = started;
    return started;
  }

  /** True when a response could not be delivered. */
  boolean isClientGone() {
    return clientGone;
  }

  /** Marks the response as failed; {@link #close()} then cuts the connection. */
  void fail(Throwable cause) {
    if (failure == null && committed && !complete) {
      failure = cause;
    }
  }

  @Override
  public void close() {
    if (watch != null) {
      watch.close();
    }
    if (!complete) {
      callback.failed(failure == null ? new IOException("The response is incomplete") : failure);
      return;
    }
    drain();
    callback.succeeded();
  }

  private void drain() {
    if (request.getLength() == 0
        || request.getLength() > MAX_DRAIN
        || (body == null && request.getHeaders().contains(HttpHeader.EXPECT))) {
      return;
    }
    byte[] buffer = new byte[DRAIN_BUFFER];
    long left = MAX_DRAIN;
    long deadline = System.nanoTime() + MAX_DRAIN_TIME.toNanos();
    try {
      InputStream rest = bodyStream();
      while (left > 0 && System.nanoTime() < deadline) {
        int count = rest.read(buffer);
        if (count < 0) {
          return;
        }
        left -= count;
      }
    } catch (IOException gone) {
      // Then there is nobody to be polite to.
    }
  }

  /** Notes whether the response came to its end. */
  private final class ResponseStream extends OutputStream {
    private final OutputStream sink;

    ResponseStream(OutputStream sink) {
      this.sink = sink;
    }

    @Override
    public void write(int value) throws IOException {
      write(new byte[] {(byte) value}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      try {
        sink.write(bytes, offset, length);
      } catch (IOException gone) {
        clientGone = true;
        throw gone;
      }
    }

    @Override
    public void flush() throws IOException {
      sink.flush();
    }

    @Override
    public void close() throws IOException {
      if (complete) {
        return;
      }
      sink.close();
      complete = true;
    }
  }
}
