package dev.hopx.http;

import java.io.InputStream;
import java.util.Optional;

/** Reads a multipart body part by part, with flat memory. */
public interface MultipartReader {
  /** The next part, empty at the end. The previous part's rest is skipped. */
  Optional<Part> next();

  /**
   * One part.
   *
   * @param name of the form field
   * @param fileName UTF-8, where the part has one
   */
  record Part(String name, Optional<String> fileName, InputStream content) {}
}
