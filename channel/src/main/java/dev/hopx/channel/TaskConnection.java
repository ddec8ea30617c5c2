package dev.hopx.channel;

import java.io.InputStream;
import java.io.OutputStream;

/** A connection dialled inside the guest. Owns its worker. */
final class TaskConnection implements GuestConnection {
  private final Worker worker;
  private final InputStream input;
  private final OutputStream output;

  private TaskConnection(Worker worker) {
    this.worker = worker;
    this.input = worker.input();
    this.output = worker.output();
  }

  static GuestConnection dial(GuestChannel channel, String host, int port) {
    if (port < 1 || port > 0xFFFF) {
      throw new IllegalArgumentException("A port is 1 to 65535");
    }
    Worker worker =
        Worker.start(
            channel,
            Worker.request(Protocol.OP_DIAL, GuestUser.ROOT).string("host", host).u16(port),
            Worker.Flow.BOTH,
            "Connection to %s:%d inside the sandbox".formatted(host, port));
    boolean success = false;
    try {
      var _ = worker.result();
      success = true;
      return new TaskConnection(worker);
    } catch (GuestException e) {
      throw switch (e.kind()) {
        // However the sandbox's policy refuses a connection, to the caller it is unreachable.
        case PERMISSION_DENIED, IO, INVALID_PATH, NOT_FOUND -> GuestException.unreachable(e);
        default -> e;
      };
    } finally {
      if (!success) {
        worker.close();
      }
    }
  }

  @Override
  public InputStream input() {
    return input;
  }

  @Override
  public OutputStream output() {
    return output;
  }

  @Override
  public void close() {
    worker.close();
  }
}
