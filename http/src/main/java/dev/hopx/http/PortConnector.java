package dev.hopx.http;

import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.ManagedSelector;
import org.eclipse.jetty.io.SelectorManager;
import org.eclipse.jetty.server.AbstractConnector;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;

/**
 * Serves the connections that any number of {@link Port}s hand over. It has no listening socket of
 * its own, so that a port costs no selector and no acceptor thread.
 */
final class PortConnector extends AbstractConnector {
  private static final int ACCEPTORS = 0;
  private static final int SELECTORS = 1;

  private final Manager manager;

  PortConnector(Server server, HttpConnectionFactory http) {
    super(server, null, null, null, ACCEPTORS, http);
    manager = new Manager();
    installBean(manager, true);
  }

  /** Takes a non-blocking channel over. */
  void accept(SocketChannel channel, Port port) {
    manager.accept(channel, port);
  }

  @Override
  protected void accept(int acceptor) {
    throw new UnsupportedOperationException("Ports accept");
  }

  @Override
  public Object getTransport() {
    return manager;
  }

  private final class Manager extends SelectorManager {
    Manager() {
      super(PortConnector.this.getExecutor(), PortConnector.this.getScheduler(), SELECTORS);
    }

    @Override
    protected EndPoint newEndPoint(
        SelectableChannel channel, ManagedSelector selector, SelectionKey key) {
      PortEndPoint endPoint =
          new PortEndPoint(
              (SocketChannel) channel, selector, key, getScheduler(), (Port) key.attachment());
      endPoint.setIdleTimeout(getIdleTimeout());
      return endPoint;
    }

    @Override
    public Connection newConnection(
        SelectableChannel channel, EndPoint endPoint, Object attachment) {
      return getDefaultConnectionFactory().newConnection(PortConnector.this, endPoint);
    }

    @Override
    protected void endPointOpened(EndPoint endPoint) {
      super.endPointOpened(endPoint);
      onEndPointOpened(endPoint);
      ((PortEndPoint) endPoint).port().opened((PortEndPoint) endPoint);
    }

    @Override
    protected void endPointClosed(EndPoint endPoint) {
      ((PortEndPoint) endPoint).port().closed((PortEndPoint) endPoint);
      onEndPointClosed(endPoint);
      super.endPointClosed(endPoint);
    }
  }
}
