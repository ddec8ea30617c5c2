package dev.hopx.server;

/**
 * A value as it was found.
 *
 * @param source where, for messages
 */
record Setting(ConfigurationKey key, String value, String source) {
  ConfigurationException invalid(String rule) {
    return new ConfigurationException(
        "%s (from %s): \"%s\" %s".formatted(key.key(), source, value, rule));
  }
}
