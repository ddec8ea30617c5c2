package dev.hopx.channel;

import java.io.Serial;

/** The guest broke a rule of {@code guest/PROTOCOL.md}; its connection must be cut. */
final class ProtocolViolation extends Exception {
  @Serial private static final long serialVersionUID = 1;

  ProtocolViolation(String message) {
    super(message);
  }
}
