package dev.hopx.channel;

import java.io.InputStream;
import java.io.OutputStream;

/** A TCP connection opened inside a guest. Closing the output half-closes it. */
public interface GuestConnection extends AutoCloseable {
  InputStream input();

  OutputStream output();

  @Override
  void close();
}
