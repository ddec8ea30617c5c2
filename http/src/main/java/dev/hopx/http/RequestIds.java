package dev.hopx.http;

import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;

/** Makes request ids. They name requests in logs and guard nothing, so any good generator does. */
public final class RequestIds {
  private static final int RANDOM_BYTES = 12;

  private RequestIds() {}

  /** {@code req_} and 24 hexadecimal digits. */
  public static String next() {
    byte[] random = new byte[RANDOM_BYTES];
    ThreadLocalRandom.current().nextBytes(random);
    return "req_" + HexFormat.of().formatHex(random);
  }
}
