package dev.hopx.http;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import org.eclipse.jetty.http.UriCompliance;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The HTTP server on Jetty's core, without servlets: one selector for all ports, a virtual thread
 * for each request. Owns the Jetty server and the ports.
 */
final class JettyHttpServer implements HttpServer {
  /** Bytes of the request line and all header fields together; above: 414 or 431. */
  static final int MAX_REQUEST_HEAD = 16 << 10;

  /** Bytes of the response's status line and header fields. */
  static final int MAX_RESPONSE_HEAD = 32 << 10;

  /** Platform threads: the selector and what Jetty does besides. */
  private static final int MAX_THREADS = 8;

  private static final int MIN_THREADS = 2;

  private static final Duration STOP_POLL = Duration.ofMillis(20);

  private static final Logger log = LoggerFactory.getLogger(JettyHttpServer.class);

  private final HttpServerOptions options;
  private final Server server;
  private final PortConnector connector;
  private final ExchangeHandler exchanges;
  private final Set<Port> ports = ConcurrentHashMap.newKeySet();

  private JettyHttpServer(HttpServerOptions options) {
    this.options = options;
    QueuedThreadPool threads = new QueuedThreadPool(MAX_THREADS, MIN_THREADS);
    threads.setName("http");
    threads.setDaemon(true);
    threads.setReservedThreads(0);
    threads.setVirtualThreadsExecutor(
        Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("request-", 0).factory()));
    server = new Server(threads);
    exchanges = new ExchangeHandler(options);
    server.setHandler(exchanges);
    server.setErrorHandler(new JsonErrorHandler());
    connector = new PortConnector(server, new HttpConnectionFactory(configuration()));
    connector.setIdleTimeout(options.idleTimeout().toMillis());
    server.addConnector(connector);
  }

  static JettyHttpServer start(HttpServerOptions options) {
    JettyHttpServer started = new JettyHttpServer(options);
    try {
      started.server.start();
    } catch (Exception failure) {
      throw new IllegalStateException("The HTTP server does not start", failure);
    }
    return started;
  }

  private static HttpConfiguration configuration() {
    HttpConfiguration configuration = new HttpConfiguration();
    configuration.setSendServerVersion(false);
    configuration.setSendDateHeader(true);
    configuration.setRequestHeaderSize(MAX_REQUEST_HEAD);
    configuration.setResponseHeaderSize(MAX_RESPONSE_HEAD);
    // Routes are matched on the raw segments, each decoded once: "%25" hides nothing from them.
    configuration.setUriCompliance(
        UriCompliance.DEFAULT.with(
            "raw-segments", UriCompliance.Violation.AMBIGUOUS_PATH_ENCODING));
    return configuration;
  }

  @Override
  public Listener listen(InetSocketAddress address, HttpHandler handler) {
    Port port = Port.open(address, connector, handler);
    ports.add(port);
    return new Listening(port);
  }

  @Override
  public void close() {
    ports.forEach(Port::stopAccepting);
    long deadline = System.nanoTime() + options.stopGrace().toNanos();
    try {
      while (exchanges.running() > 0 && System.nanoTime() < deadline) {
        Thread.sleep(STOP_POLL);
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    ports.forEach(Port::close);
    try {
      server.stop();
    } catch (Exception failure) {
      log.warn("The HTTP server does not stop cleanly", failure);
    }
  }

  /** A port that leaves the server's set when it closes. */
  private final class Listening implements Listener {
    private final Port port;

    Listening(Port port) {
      this.port = port;
    }

    @Override
    public InetSocketAddress address() {
      return port.address();
    }

    @Override
    public void close() {
      ports.remove(port);
      port.close();
    }
  }
}
