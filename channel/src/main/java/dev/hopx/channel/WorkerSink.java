package dev.hopx.channel;

import java.io.IOException;
import java.io.OutputStream;

/** A file being written. Owns its worker: closing it before a commit removes what was written. */
final class WorkerSink implements GuestFiles.GuestFileSink {
  private final Worker worker;
  private final OutputStream content;
  private boolean committed;

  WorkerSink(Worker worker) {
    this.worker = worker;
    OutputStream output = worker.output();
    this.content =
        new OutputStream() {
          @Override
          public void write(int value) throws IOException {
            write(new byte[] {(byte) value}, 0, 1);
          }

          @Override
          public void write(byte[] bytes, int start, int length) throws IOException {
            try {
              output.write(bytes, start, length);
            } catch (IOException e) {
              throw explained(e);
            }
          }
        };
  }

  /** A worker that gave up early (a full disk, say) has said why in its record. */
  private IOException explained(IOException e) {
    if (e instanceof java.io.InterruptedIOException || e.getCause() instanceof GuestException) {
      return e;
    }
    try {
      var _ = worker.result();
      return e;
    } catch (GuestException reason) {
      return new IOException(reason.getMessage(), reason);
    }
  }

  @Override
  public OutputStream content() {
    return content;
  }

  @Override
  public FileStat commit() {
    if (committed) {
      throw new IllegalStateException("The file was committed already");
    }
    committed = true;
    worker.endInput();
    return worker.stat();
  }

  @Override
  public void close() {
    worker.close();
  }
}
