package dev.hopx.node;

import java.io.Serial;

/** The node takes no further sandbox now; nothing was made. The message says what is short. */
public final class NodeFullException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1;

  public NodeFullException(String message) {
    super(message);
  }
}
