package dev.hopx.channel;

import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/** A running watch. Owns its worker. */
final class WorkerWatch implements GuestFiles.GuestWatch {
  private final Worker worker;
  private final FieldInput fields;
  private final ReentrantLock reading = new ReentrantLock();

  WorkerWatch(Worker worker) {
    this.worker = worker;
    this.fields = worker.fields();
  }

  @Override
  public FileEvent take() throws InterruptedException {
    reading.lockInterruptibly();
    try {
      int kind = fields.u8();
      int directory = fields.u8();
      String path = fields.string(Protocol.MAX_RESOLVED_PATH);
      if (directory > 1) {
        throw new ProtocolViolation("A file event of a directory " + directory);
      }
      FileEvent.Kind known = kind(kind);
      String oldPath = fields.string(Protocol.MAX_RESOLVED_PATH);
      Optional<String> old =
          known == FileEvent.Kind.RENAMED ? Optional.of(oldPath) : Optional.empty();
      return new FileEvent(known, directory == 1, path, old);
    } catch (InterruptedIOException e) {
      var _ = Thread.interrupted();
      InterruptedException interrupted = new InterruptedException("Interrupted");
      interrupted.initCause(e);
      throw interrupted;
    } catch (EOFException e) {
      throw worker.died(e);
    } catch (IOException e) {
      throw worker.failed(e);
    } catch (ProtocolViolation e) {
      throw worker.violated(e);
    } finally {
      reading.unlock();
    }
  }

  private static FileEvent.Kind kind(int number) throws ProtocolViolation {
    return switch (number) {
      case 1 -> FileEvent.Kind.CREATED;
      case 2 -> FileEvent.Kind.MODIFIED;
      case 3 -> FileEvent.Kind.DELETED;
      case 4 -> FileEvent.Kind.RENAMED;
      case 5 -> FileEvent.Kind.OVERFLOW;
      default -> throw new ProtocolViolation("A file event of kind " + number);
    };
  }

  @Override
  public void close() {
    worker.close();
  }
}
