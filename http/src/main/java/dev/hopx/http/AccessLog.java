package dev.hopx.http;

import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One line for each request. Without the query, which may hold a token. */
final class AccessLog {
  private static final Logger log = LoggerFactory.getLogger("dev.hopx.http.access");

  private AccessLog() {}

  static void write(JettyExchange exchange, long nanoseconds) {
    if (!log.isDebugEnabled()) {
      return;
    }
    log.atDebug()
        .addKeyValue("request_id", exchange.requestId())
        .addKeyValue("port", exchange.localPort())
        .addKeyValue("method", exchange.methodName())
        .addKeyValue("path", exchange.rawPath())
        .addKeyValue("status", exchange.status())
        .addKeyValue("ms", TimeUnit.NANOSECONDS.toMillis(nanoseconds))
        .log("request");
  }
}
