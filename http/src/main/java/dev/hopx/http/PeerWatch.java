package dev.hopx.http;

import java.util.concurrent.CancellationException;
import java.util.concurrent.locks.ReentrantLock;
import org.eclipse.jetty.util.Callback;

/**
 * Notices that the client of a running request goes away. It registers the interest in reading that
 * the connection itself does not have while a handler runs, and withdraws it before the connection
 * reads again. Callbacks come on the selector's thread and do not block.
 */
final class PeerWatch implements HttpExchange.DisconnectWatch, Callback {
  private final PortEndPoint endPoint;
  private final Runnable action;
  private final ReentrantLock lock = new ReentrantLock();
  private boolean registered;
  private boolean ended;

  private PeerWatch(PortEndPoint endPoint, Runnable action) {
    this.endPoint = endPoint;
    this.action = action;
  }

  static PeerWatch start(PortEndPoint endPoint, Runnable action) {
    PeerWatch watch = new PeerWatch(endPoint, action);
    watch.lock.lock();
    try {
      watch.look();
    } finally {
      watch.lock.unlock();
    }
    return watch;
  }

  @Override
  public InvocationType getInvocationType() {
    return InvocationType.NON_BLOCKING;
  }

  /** The connection can be read. */
  @Override
  public void succeeded() {
    lock.lock();
    try {
      if (!ended) {
        registered = false;
        look();
      }
    } finally {
      lock.unlock();
    }
  }

  /** The connection was closed on this side, e.g. with its port. */
  @Override
  public void failed(Throwable failure) {
    lock.lock();
    try {
      if (!ended) {
        registered = false;
        gone();
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void close() {
    lock.lock();
    try {
      if (ended) {
        return;
      }
      ended = true;
      if (registered) {
        // Takes this callback out, unless it is being called: then it finds the watch ended.
        endPoint.getFillInterest().onFail(new CancellationException("Watch ended"));
      }
    } finally {
      lock.unlock();
    }
  }

  private void look() {
    switch (endPoint.readAhead()) {
      case ALIVE -> {
        registered = true;
        endPoint.fillInterested(this);
      }
      case FULL -> {
        // A client that pipelines this much is there; its end is found when it is written to.
      }
      case GONE -> gone();
    }
  }

  private void gone() {
    ended = true;
    Thread.ofVirtual().name("disconnect").start(action);
  }
}
