package dev.hopx.template;

import java.io.Serial;

/** A template could not be built or read; the message says why and what to do. */
public final class TemplateException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1;

  public TemplateException(String message) {
    super(message);
  }

  public TemplateException(String message, Throwable cause) {
    super(message, cause);
  }
}
