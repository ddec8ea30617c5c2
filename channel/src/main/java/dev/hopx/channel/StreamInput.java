package dev.hopx.channel;

import java.io.IOException;
import java.io.InputStream;

/** Reads one output of a stream. For one thread; closing it does nothing, its owner closes all. */
final class StreamInput extends InputStream {
  private final GuestStream stream;
  private final int channel;

  StreamInput(GuestStream stream, int channel) {
    this.stream = stream;
    this.channel = channel;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
  }

  @Override
  public int read(byte[] target, int start, int length) throws IOException {
    java.util.Objects.checkFromIndexSize(start, length, target.length);
    return stream.read(channel, target, start, length);
  }

  @Override
  public int available() {
    return stream.available(channel);
  }
}
