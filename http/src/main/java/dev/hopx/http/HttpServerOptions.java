package dev.hopx.http;

import java.time.Duration;

/**
 * Settings of an {@link HttpServer}.
 *
 * @param maxJsonBody highest number of bytes of a JSON body, at least 1
 * @param idleTimeout how long a connection may be silent between requests, or a peer may neither
 *     send its body nor take its response; a handler may be silent for as long as it likes
 * @param stopGrace how long requests under way may go on after {@link HttpServer#close()}
 */
public record HttpServerOptions(long maxJsonBody, Duration idleTimeout, Duration stopGrace) {
  /** 64 MiB. */
  public static final long DEFAULT_MAX_JSON_BODY = 64L << 20;

  public static final Duration DEFAULT_IDLE_TIMEOUT = Duration.ofSeconds(60);
  public static final Duration DEFAULT_STOP_GRACE = Duration.ofSeconds(2);

  public HttpServerOptions {
    if (maxJsonBody < 1 || maxJsonBody > Integer.MAX_VALUE) {
      throw new IllegalArgumentException("maxJsonBody must be 1 to 2147483647 bytes");
    }
    if (!idleTimeout.isPositive() || stopGrace.isNegative()) {
      throw new IllegalArgumentException("idleTimeout must be positive, stopGrace not negative");
    }
  }

  public static HttpServerOptions defaults() {
    return new HttpServerOptions(DEFAULT_MAX_JSON_BODY, DEFAULT_IDLE_TIMEOUT, DEFAULT_STOP_GRACE);
  }
}
