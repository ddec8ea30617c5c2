package dev.hopx.server;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** The version this program was built as. */
final class Version {
  private static final String RESOURCE = "version.properties";

  private Version() {}

  static String current() {
    Properties properties = new Properties();
    try (InputStream input = Version.class.getResourceAsStream(RESOURCE)) {
      if (input == null) {
        throw new IllegalStateException("The build left out " + RESOURCE);
      }
      properties.load(input);
    } catch (IOException failure) {
      throw new UncheckedIOException("Cannot read " + RESOURCE, failure);
    }
    return properties.getProperty("version", "");
  }
}
