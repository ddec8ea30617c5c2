package dev.hopx.http;

import java.net.InetSocketAddress;

/**
 * One HTTP/1.1 server with any number of listening ports, each with a handler of its own; ports
 * come and go while it runs. An idle port costs a parked virtual thread.
 */
public interface HttpServer extends AutoCloseable {
  /** Starts a server that listens nowhere yet. */
  static HttpServer start(HttpServerOptions options) {
    return JettyHttpServer.start(options);
  }

  /**
   * Starts to listen.
   *
   * @throws java.io.UncheckedIOException when the address is in use
   */
  Listener listen(InetSocketAddress address, HttpHandler handler);

  /** Stops all ports; requests under way get a short grace. */
  @Override
  void close();

  /** A listening port. */
  interface Listener extends AutoCloseable {
    InetSocketAddress address();

    /** Stops listening and cuts the connections that came in through this port. */
    @Override
    void close();
  }
}
