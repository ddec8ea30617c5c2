package dev.hopx.server;

import java.io.Serial;

/** A setting is not usable. The message names the key, where it was set, and what it may be. */
final class ConfigurationException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1;

  ConfigurationException(String message) {
    super(message);
  }
}
