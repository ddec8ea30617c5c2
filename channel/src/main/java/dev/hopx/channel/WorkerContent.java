package dev.hopx.channel;

import java.io.InputStream;

/** A file being read. Owns its worker. */
final class WorkerContent implements GuestFiles.GuestFileContent {
  private final Worker worker;
  private final FileStat stat;
  private final InputStream content;

  WorkerContent(Worker worker, FileStat stat) {
    this.worker = worker;
    this.stat = stat;
    this.content = worker.content();
  }

  @Override
  public FileStat stat() {
    return stat;
  }

  @Override
  public InputStream content() {
    return content;
  }

  @Override
  public void close() {
    worker.close();
  }
}
