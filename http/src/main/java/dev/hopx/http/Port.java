package dev.hopx.http;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A listening port. Owns its listening socket, one parked virtual thread that accepts, and the
 * connections that came in through it.
 */
final class Port implements HttpServer.Listener {
  private static final Logger log = LoggerFactory.getLogger(Port.class);

  /** Connections that wait to be accepted. */
  private static final int BACKLOG = 1024;

  /** Pause after a failed accept, e.g. when the process has no descriptor left. */
  private static final long ACCEPT_RETRY_MILLIS = 100;

  /** How long a close waits for the accepting thread, which has nothing to wait for. */
  private static final Duration ACCEPTOR_END = Duration.ofSeconds(5);

  private final ServerSocketChannel listening;
  private final InetSocketAddress address;
  private final PortConnector connector;
  private final HttpHandler handler;
  private final Set<PortEndPoint> connections = ConcurrentHashMap.newKeySet();
  private final Thread acceptor;
  private volatile boolean closed;

  private Port(
      ServerSocketChannel listening,
      InetSocketAddress address,
      PortConnector connector,
      HttpHandler handler) {
    this.listening = listening;
    this.address = address;
    this.connector = connector;
    this.handler = handler;
    acceptor = Thread.ofVirtual().name("accept-" + address.getPort()).unstarted(this::acceptAll);
  }

  static Port open(InetSocketAddress wanted, PortConnector connector, HttpHandler handler) {
    try {
      ServerSocketChannel listening = ServerSocketChannel.open();
      try {
        listening.bind(wanted, BACKLOG);
        InetSocketAddress address = (InetSocketAddress) listening.getLocalAddress();
        Port port = new Port(listening, address, connector, handler);
        port.acceptor.start();
        return port;
      } catch (IOException | RuntimeException failure) {
        listening.close();
        throw failure;
      }
    } catch (IOException failure) {
      throw new UncheckedIOException(
          "Cannot listen on " + wanted + ": " + failure.getMessage(), failure);
    }
  }

  HttpHandler handler() {
    return handler;
  }

  @Override
  public InetSocketAddress address() {
    return address;
  }

  /** Takes no more connections; those it has go on. The port is free when this returns. */
  void stopAccepting() {
    try {
      listening.close();
      // The kernel's socket goes when the thread that waits in it has left.
      acceptor.join(ACCEPTOR_END);
    } catch (IOException failure) {
      log.warn("Closing port {}", address.getPort(), failure);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    closed = true;
    stopAccepting();
    for (PortEndPoint connection : connections) {
      connection.close();
    }
  }

  void opened(PortEndPoint connection) {
    connections.add(connection);
    // close() may have gone over the set before this one was in it.
    if (closed) {
      connection.close();
    }
  }

  void closed(PortEndPoint connection) {
    connections.remove(connection);
  }

  private void acceptAll() {
    while (listening.isOpen()) {
      try {
        hand(listening.accept());
      } catch (ClosedChannelException ended) {
        return;
      } catch (IOException failure) {
        log.warn("Accepting on port {}: {}", address.getPort(), failure.getMessage());
        try {
          Thread.sleep(ACCEPT_RETRY_MILLIS);
        } catch (InterruptedException interrupted) {
          return;
        }
      }
    }
  }

  private void hand(SocketChannel channel) throws IOException {
    try {
      channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
      channel.configureBlocking(false);
      connector.accept(channel, this);
    } catch (IOException failure) {
      // The client is gone already; the next one is not affected.
      channel.close();
    } catch (RuntimeException failure) {
      channel.close();
      throw failure;
    }
  }
}
