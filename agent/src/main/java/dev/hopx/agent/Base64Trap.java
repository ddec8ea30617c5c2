package dev.hopx.agent;

import dev.hopx.http.HttpExchange;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;

/**
 * The official Python client decodes every download that happens to be canonical base64, so that a
 * file with the text {@code test} comes out wrong (contract §4.4). What it would decode is sent
 * encoded once more. Others that use the same HTTP library get bytes as they are when they say what
 * they accept; that client never does.
 */
final class Base64Trap {
  /** Bytes of a file that is looked at; a larger base64 text without a line break is rare. */
  static final int MAX_SIZE = 1 << 20;

  private Base64Trap() {}

  static boolean concerns(HttpExchange exchange) {
    return exchange.header("User-Agent").orElse("").startsWith("python-httpx/")
        && exchange.header("Accept").orElse("*/*").equals("*/*")
        && exchange.header("Range").isEmpty();
  }

  /** What to send so that the client ends up with {@code content}. */
  static byte[] disarm(byte[] content) {
    return isCanonical(content) ? Base64.getEncoder().encode(content) : content;
  }

  private static boolean isCanonical(byte[] content) {
    if (content.length == 0 || content.length % 4 != 0) {
      return false;
    }
    try {
      byte[] decoded = Base64.getDecoder().decode(content);
      return Arrays.equals(
          Base64.getEncoder().encodeToString(decoded).getBytes(StandardCharsets.US_ASCII), content);
    } catch (IllegalArgumentException other) {
      return false;
    }
  }
}
