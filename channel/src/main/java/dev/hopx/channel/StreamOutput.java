package dev.hopx.channel;

import java.io.IOException;
import java.io.OutputStream;

/** Writes to channel 0 of a stream. Thread-safe as the stream is; closing ends the input. */
final class StreamOutput extends OutputStream {
  private final GuestStream stream;

  StreamOutput(GuestStream stream) {
    this.stream = stream;
  }

  @Override
  public void write(int value) throws IOException {
    write(new byte[] {(byte) value}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int start, int length) throws IOException {
    java.util.Objects.checkFromIndexSize(start, length, bytes.length);
    stream.write(bytes, start, length);
  }

  @Override
  public void close() {
    stream.endInput();
  }
}
