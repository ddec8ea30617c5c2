package dev.hopx.guest;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** The interpreters that run inside of a sandbox, as source texts in UTF-8. */
public final class Kernels {
  private Kernels() {}

  /** For CPython 3.8 and later; a module whose {@code main()} serves until its input ends. */
  public static byte[] python() {
    return resource("kernel.py");
  }

  /** For Node 18 and later; the body of a function that is given {@code require}. */
  public static byte[] javascript() {
    return resource("kernel.js");
  }

  private static byte[] resource(String name) {
    try (InputStream stream = Kernels.class.getResourceAsStream(name)) {
      if (stream == null) {
        throw new FileNotFoundException(
            name + " is not part of this build; build the module guest again");
      }
      return stream.readAllBytes();
    } catch (IOException failure) {
      throw new UncheckedIOException("Cannot read " + name, failure);
    }
  }
}
