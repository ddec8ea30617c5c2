package dev.hopx.node;

import java.io.Serial;

/** A sandbox could not be made, found or removed; the message says which step failed and why. */
public final class NodeException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1;

  public NodeException(String message) {
    super(message);
  }

  public NodeException(String message, Throwable cause) {
    super(message, cause);
  }
}
