package dev.hopx.http;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Gives each request to the handler of the port it came in through, and ends it. */
final class ExchangeHandler extends Handler.Abstract {
  private static final Logger log = LoggerFactory.getLogger(ExchangeHandler.class);

  private final HttpServerOptions options;
  private final AtomicInteger running = new AtomicInteger();

  ExchangeHandler(HttpServerOptions options) {
    this.options = options;
  }

  /** Requests under way. */
  int running() {
    return running.get();
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) {
    long begun = System.nanoTime();
    PortEndPoint endPoint =
        (PortEndPoint) request.getConnectionMetaData().getConnection().getEndPoint();
    running.incrementAndGet();
    try (JettyExchange exchange =
        new JettyExchange(request, response, callback, endPoint, options)) {
      try {
        run(endPoint.port().handler(), exchange);
      } finally {
        AccessLog.write(exchange, System.nanoTime() - begun);
      }
    } finally {
      running.decrementAndGet();
    }
    return true;
  }

  private static void run(HttpHandler handler, JettyExchange exchange) {
    try {
      exchange.checkPath();
      handler.handle(exchange);
      if (!exchange.isCommitted()) {
        log.error("{} was not answered by its handler", exchange.requestId());
        sendError(exchange, new ApiException(ErrorCode.INTERNAL_ERROR, "Internal error"));
      }
    } catch (ApiException failure) {
      sendError(exchange, failure);
    } catch (Throwable failure) {
      if (exchange.isClientGone()) {
        log.debug("{}: the client went away", exchange.requestId(), failure);
      } else {
        log.error("{} failed", exchange.requestId(), failure);
      }
      exchange.fail(failure);
      sendError(exchange, new ApiException(ErrorCode.INTERNAL_ERROR, "Internal error"));
    }
  }

  /** Errors no router rendered, in the form every client understands. */
  private static void sendError(JettyExchange exchange, ApiException failure) {
    if (exchange.isCommitted()) {
      exchange.fail(failure);
      return;
    }
    Map<String, Object> body = new LinkedHashMap<>();
    body.put("error", failure.getMessage());
    body.put("message", failure.getMessage());
    body.put("code", failure.code().name());
    body.put("request_id", exchange.requestId());
    body.put("details", failure.details());
    try {
      exchange.sendJson(failure.code().status(), body);
    } catch (RuntimeException gone) {
      exchange.fail(gone);
    }
  }
}
