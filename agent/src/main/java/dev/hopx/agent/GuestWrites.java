package dev.hopx.agent;

import dev.hopx.channel.GuestException;
import dev.hopx.channel.GuestFiles.GuestFileSink;
import java.io.IOException;
import java.io.InputStream;

/** Moves bytes into a file being written, and finds out why the guest refused them. */
final class GuestWrites {
  private static final int BUFFER = 64 << 10;

  private GuestWrites() {}

  static void write(GuestFileSink sink, byte[] bytes) throws IOException {
    write(sink, bytes, bytes.length);
  }

  /** Copies to the end of {@code source}, whose own failures are thrown as they are. */
  static void copy(InputStream source, GuestFileSink sink) throws IOException {
    byte[] buffer = new byte[BUFFER];
    for (int count = source.read(buffer); count >= 0; count = source.read(buffer)) {
      write(sink, buffer, count);
    }
  }

  private static void write(GuestFileSink sink, byte[] bytes, int length) throws IOException {
    try {
      sink.content().write(bytes, 0, length);
    } catch (IOException refused) {
      if (refused.getCause() instanceof GuestException reason) {
        throw reason;
      }
      throw refused;
    }
  }
}
