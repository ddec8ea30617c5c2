package dev.hopx.agent;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * An absolute path inside a guest. Empty and {@code .} parts are taken out; {@code ..} stays for
 * the guest to resolve, since only it knows where links lead.
 */
record GuestPath(String value) {
  static final String WORKSPACE = "/workspace";
  static final String TEMPORARY = "/tmp";

  /** Bytes of UTF-8, as the kernel's PATH_MAX without its end. */
  static final int MAX_BYTES = 4095;

  /**
   * Takes a path as a caller wrote it; a relative one starts at {@link #WORKSPACE}.
   *
   * @throws ApiException {@code INVALID_PATH}
   */
  static GuestPath parse(String text) {
    if (text.isEmpty()) {
      throw invalid(text, "Invalid path: it is empty");
    }
    if (text.indexOf('\0') >= 0) {
      throw invalid(text, "Invalid path: it holds a NUL character");
    }
    List<String> parts = new ArrayList<>();
    String whole = text.startsWith("/") ? text : WORKSPACE + "/" + text;
    for (String part : whole.split("/")) {
      if (!part.isEmpty() && !part.equals(".")) {
        parts.add(part);
      }
    }
    String value = "/" + String.join("/", parts);
    if (value.getBytes(StandardCharsets.UTF_8).length > MAX_BYTES) {
      throw invalid(
          text.substring(0, Math.min(100, text.length())) + "…",
          "Invalid path: it is longer than " + MAX_BYTES + " bytes");
    }
    return new GuestPath(value);
  }

  /** As {@link #parse}, for the path of a file: it must not end like a directory's. */
  static GuestPath parseFile(String text) {
    GuestPath path = parse(text);
    if (namesDirectory(text)) {
      throw new ApiException(
          ErrorCode.IS_DIRECTORY,
          "The path names a directory, a file is wanted: " + path.value,
          Map.of("path", path.value));
    }
    return path;
  }

  static boolean namesDirectory(String text) {
    return text.endsWith("/")
        || text.equals(".")
        || text.equals("..")
        || text.endsWith("/.")
        || text.endsWith("/..");
  }

  /** The last part, empty for the root. */
  String name() {
    return value.substring(value.lastIndexOf('/') + 1);
  }

  GuestPath parent() {
    int slash = value.lastIndexOf('/');
    return new GuestPath(slash <= 0 ? "/" : value.substring(0, slash));
  }

  GuestPath child(String name) {
    return new GuestPath(value.equals("/") ? "/" + name : value + "/" + name);
  }

  private static ApiException invalid(String text, String message) {
    return new ApiException(ErrorCode.INVALID_PATH, message, Map.of("path", text));
  }
}
