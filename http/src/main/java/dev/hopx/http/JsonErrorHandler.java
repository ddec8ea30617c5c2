package dev.hopx.http;

import dev.hopx.api.ErrorCode;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.handler.ErrorHandler;
import org.eclipse.jetty.util.Callback;
import org.jspecify.annotations.Nullable;

/**
 * Renders the errors Jetty finds before a handler runs (broken request lines, heads that are too
 * large) as JSON with a request id, like every other error.
 */
final class JsonErrorHandler extends ErrorHandler {
  static final String REQUEST_ID = "X-Request-ID";
  static final String JSON = "application/json";

  @Override
  public boolean errorPageForMethod(String method) {
    return true;
  }

  @Override
  protected void generateResponse(
      Request request,
      Response response,
      int status,
      @Nullable String message,
      @Nullable Throwable cause,
      Callback callback) {
    String requestId = requestId(response.getHeaders().get(REQUEST_ID));
    response.getHeaders().put(REQUEST_ID, requestId);
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, JSON);
    response.write(true, ByteBuffer.wrap(body(status, message, requestId)), callback);
  }

  private static String requestId(@Nullable String present) {
    return present == null ? RequestIds.next() : present;
  }

  private static byte[] body(int status, @Nullable String message, String requestId) {
    // Jetty's own text names a fault of the request; of a fault of ours it could tell too much.
    String text = message == null || status >= 500 ? HttpStatus.getMessage(status) : message;
    Map<String, Object> body = new LinkedHashMap<>();
    body.put("error", text);
    body.put("message", text);
    body.put("code", code(status).name());
    body.put("request_id", requestId);
    body.put("details", Map.of());
    return Json.mapper().writeValueAsString(body).getBytes(StandardCharsets.UTF_8);
  }

  private static ErrorCode code(int status) {
    // 501 and 505 are about what the request asks for, not about a fault here.
    if (status >= 500
        && status != HttpStatus.NOT_IMPLEMENTED_501
        && status != HttpStatus.HTTP_VERSION_NOT_SUPPORTED_505) {
      return status == 503 ? ErrorCode.SERVICE_UNAVAILABLE : ErrorCode.INTERNAL_ERROR;
    }
    return status == 413 ? ErrorCode.PAYLOAD_TOO_LARGE : ErrorCode.INVALID_REQUEST;
  }
}
