package dev.hopx.channel;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Optional;

/**
 * One task in the guest: a worker process that answers with a record. Owns its stream; every
 * failure is a {@link GuestException} that begins with the subject.
 */
final class Worker implements AutoCloseable {
  /** How a task uses channels 0 and 1. */
  enum Flow {
    NONE,
    INPUT,
    OUTPUT,
    BOTH
  }

  private static final int ENTRY_BUFFER = 16_384;

  private final GuestChannel channel;
  private final GuestStream stream;
  private final String subject;

  private Worker(GuestChannel channel, GuestStream stream, String subject) {
    this.channel = channel;
    this.stream = stream;
    this.subject = subject;
  }

  /** Begins the payload of a TASK. */
  static PayloadWriter request(int operation, GuestUser user) {
    return new PayloadWriter().u8(operation).u32(user.uid()).u32(user.gid()).string("tag", "");
  }

  static Worker start(GuestChannel channel, PayloadWriter request, Flow flow, String subject) {
    boolean input = flow == Flow.INPUT || flow == Flow.BOTH;
    int window = flow == Flow.OUTPUT || flow == Flow.BOTH ? Protocol.MAX_WINDOW : 0;
    try {
      GuestStream stream =
          channel.open(
              id -> GuestStream.ofWorker(id, input, window, ResultRecord.WINDOW),
              id -> request.frame(Protocol.TASK, id));
      return new Worker(channel, stream, subject);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new GuestException(GuestException.Kind.LOST, subject + ": interrupted", e);
    } catch (GuestException e) {
      throw GuestException.about(subject, e);
    }
  }

  /**
   * Waits for the record and gives what it says.
   *
   * @throws GuestException when the operation failed
   */
  ResultRecord result() {
    try {
      ResultRecord result = ResultRecord.read(new StreamInput(stream, Protocol.ERR));
      if (result.code() != 0) {
        throw new GuestException(
            Errno.kind(result.code()), result.code(), subject + ": " + Errno.text(result.code()));
      }
      return result;
    } catch (EOFException e) {
      throw died(e);
    } catch (IOException e) {
      throw failed(e);
    } catch (ProtocolViolation e) {
      throw violated(e);
    }
  }

  /** The result of an operation whose record has a stat. */
  FileStat stat() {
    Optional<FileStat> stat = result().stat();
    if (stat.isEmpty()) {
      throw violated(new ProtocolViolation("A result without a stat"));
    }
    return stat.get();
  }

  /** Channel 1 as content; its end is only given when the worker has ended well. */
  InputStream content() {
    StreamInput input = new StreamInput(stream, Protocol.OUT);
    return new InputStream() {
      @Override
      public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
      }

      @Override
      public int read(byte[] target, int start, int length) throws IOException {
        int count = input.read(target, start, length);
        if (count < 0) {
          try {
            awaitGoodEnd();
          } catch (GuestException e) {
            throw new IOException(e.getMessage(), e);
          }
        }
        return count;
      }

      @Override
      public int available() {
        return input.available();
      }
    };
  }

  /** Channel 1 as fields. */
  FieldInput fields() {
    return new FieldInput(new BufferedInputStream(content(), ENTRY_BUFFER));
  }

  /** Channel 1 whose end means nothing but the end. */
  InputStream input() {
    return new StreamInput(stream, Protocol.OUT);
  }

  /** Channel 0. */
  OutputStream output() {
    return new StreamOutput(stream);
  }

  void endInput() {
    stream.endInput();
  }

  /** A worker that was killed (by the out-of-memory killer, say) must not pass for a short file. */
  private void awaitGoodEnd() {
    try {
      ProcessExit exit = stream.awaitExit(Long.MAX_VALUE).orElseThrow();
      if (exit.status().orElse(-1) != 0) {
        throw died(new EOFException("The worker ended with " + exit.shellCode()));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new GuestException(GuestException.Kind.LOST, subject + ": interrupted", e);
    }
  }

  GuestException died(IOException cause) {
    return new GuestException(
        GuestException.Kind.IO, subject + ": the guest's worker ended before its work", cause);
  }

  /** What a failed read or write of the stream means. */
  GuestException failed(IOException e) {
    if (e.getCause() instanceof GuestException guest) {
      return GuestException.about(subject, guest);
    }
    return new GuestException(
        e instanceof java.io.InterruptedIOException
            ? GuestException.Kind.LOST
            : GuestException.Kind.IO,
        subject + ": " + e.getMessage(),
        e);
  }

  GuestException violated(ProtocolViolation violation) {
    channel.broken(violation);
    return new GuestException(
        GuestException.Kind.PROTOCOL, subject + ": " + violation.getMessage(), violation);
  }

  @Override
  public void close() {
    channel.forget(stream);
    var _ = stream.close(false);
  }
}
