package dev.hopx.channel;

import static java.util.Objects.requireNonNull;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One stream of a guest: its three channels and how far it has come. Outlives connections: {@link
 * #attach} ties it to one, {@link #detach} sets it loose. Thread-safe; the lock is never held while
 * waiting for the socket, and the channel's lock is never taken under it.
 */
final class GuestStream {
  /** How much one read gives at most; smaller than the window, so that the guest can go on. */
  private static final int MAX_READ = 65_536;

  private final long id;
  private final boolean process;
  private final boolean hasInput;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition stateChanged = lock.newCondition();
  private final Condition writable = lock.newCondition();
  private final List<Condition> readable = List.of(lock.newCondition(), lock.newCondition());
  private final List<ReceiveBuffer> outputs;
  private final SendBuffer input;
  private @Nullable Connection connection;
  private @Nullable GuestException failure;
  private @Nullable ProcessExit exit;
  private int pid;
  private boolean goSent;
  private boolean started;
  private boolean resumed;
  private boolean closed;

  private GuestStream(
      long id, boolean process, boolean hasInput, SendBuffer input, List<ReceiveBuffer> outputs) {
    this.id = id;
    this.process = process;
    this.hasInput = hasInput;
    this.input = input;
    this.outputs = outputs;
  }

  static GuestStream ofProcess(long id, boolean hasInput, boolean hasErrors) {
    return new GuestStream(
        id,
        true,
        hasInput,
        new SendBuffer(true, 0),
        List.of(
            new ReceiveBuffer(Protocol.MAX_WINDOW, 0),
            new ReceiveBuffer(hasErrors ? Protocol.MAX_WINDOW : 0, 0)));
  }

  /**
   * @param outputWindow bytes of channel 1, 0 when the operation has no output
   * @param recordWindow bytes of channel 2
   */
  static GuestStream ofWorker(long id, boolean hasInput, int outputWindow, int recordWindow) {
    return new GuestStream(
        id,
        false,
        hasInput,
        new SendBuffer(false, 0),
        List.of(new ReceiveBuffer(outputWindow, 0), new ReceiveBuffer(recordWindow, 0)));
  }

  /** A process of an earlier owner, to be read from the given offsets on. */
  static GuestStream ofAdopted(ListedStream listed, long stdoutOffset, long stderrOffset) {
    boolean hasErrors = listed.channels().get(Protocol.ERR).state() != Protocol.CHANNEL_NONE;
    boolean hasInput = listed.channels().get(Protocol.IN).state() != Protocol.CHANNEL_NONE;
    GuestStream stream =
        new GuestStream(
            listed.stream(),
            true,
            hasInput,
            new SendBuffer(true, listed.channels().get(Protocol.IN).consumed()),
            List.of(
                new ReceiveBuffer(Protocol.MAX_WINDOW, stdoutOffset),
                new ReceiveBuffer(hasErrors ? Protocol.MAX_WINDOW : 0, stderrOffset)));
    stream.pid = listed.pid();
    stream.goSent = true;
    stream.started = true;
    return stream;
  }

  long id() {
    return id;
  }

  boolean hasInput() {
    return hasInput;
  }

  // ---- towards the connection; the channel's lock orders these calls

  /** Sends the first frame and the first credits. */
  void open(Connection to, byte[] request) {
    lock.lock();
    try {
      connection = to;
      to.offer(request);
      for (int channel = Protocol.OUT; channel <= Protocol.ERR; channel++) {
        ReceiveBuffer buffer = output(channel);
        if (!buffer.isAbsent()) {
          to.offer(buffer.credit(id, channel));
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** Goes on over a new connection, where the guest and the host stopped. */
  void attach(Connection to, ListedStream listed) throws ProtocolViolation {
    lock.lock();
    try {
      if (closed) {
        to.offer(Frames.empty(Protocol.CLOSE, id));
        return;
      }
      if (failure != null) {
        return;
      }
      if (!process || (pid != 0 && pid != listed.pid())) {
        throw new ProtocolViolation("Stream " + id + " is listed as another one");
      }
      pid = listed.pid();
      resumed = true;
      if (listed.state() != Protocol.STATE_HELD) {
        // What STARTED would have said; it may have been lost with the connection.
        started = true;
      }
      for (int channel = Protocol.OUT; channel <= Protocol.ERR; channel++) {
        resume(to, channel, listed.channels().get(channel));
      }
      if (listed.state() == Protocol.STATE_HELD && goSent) {
        to.offer(Frames.empty(Protocol.GO, id));
      }
      ListedStream.Channel in = listed.channels().get(Protocol.IN);
      if (in.state() != Protocol.CHANNEL_OPEN) {
        input.shut();
      } else if (hasInput) {
        input.replay(id, in.consumed()).forEach(to::offer);
      } else {
        throw new ProtocolViolation("Stream " + id + " is listed with an input it has not");
      }
      connection = to;
      wakeAll();
    } finally {
      lock.unlock();
    }
  }

  private void resume(Connection to, int channel, ListedStream.Channel listed)
      throws ProtocolViolation {
    ReceiveBuffer buffer = output(channel);
    if (listed.state() == Protocol.CHANNEL_NONE) {
      if (!buffer.isAbsent()) {
        throw new ProtocolViolation("Channel " + channel + " of stream " + id + " has vanished");
      }
      return;
    }
    if (buffer.isAbsent()) {
      throw new ProtocolViolation("Channel " + channel + " of stream " + id + " has appeared");
    }
    long offset = buffer.received();
    if (offset < listed.consumed() || offset > listed.sent()) {
      throw new ProtocolViolation(
          "Stream %d has %d bytes here, but is listed with %d to %d"
              .formatted(id, offset, listed.consumed(), listed.sent()));
    }
    to.offer(Frames.resume(id, channel, offset));
    to.offer(buffer.credit(id, channel));
  }

  /** The connection is gone. A worker is gone with it, a process waits for the next. */
  void detach() {
    lock.lock();
    try {
      connection = null;
      if (!process && !isComplete()) {
        fail(new GuestException(GuestException.Kind.LOST, 0, "The connection to the guest broke"));
      }
    } finally {
      lock.unlock();
    }
  }

  /** The guest does not know the stream any more. */
  void forgotten() {
    lock.lock();
    try {
      if (!isComplete()) {
        fail(
            new GuestException(
                GuestException.Kind.LOST, 0, "The process did not survive a lost connection"));
      }
    } finally {
      lock.unlock();
    }
  }

  /** The first reason stays. What has arrived before can still be read. */
  void fail(GuestException reason) {
    lock.lock();
    try {
      if (failure == null) {
        failure = reason;
      }
      connection = null;
      wakeAll();
    } finally {
      lock.unlock();
    }
  }

  private boolean isComplete() {
    return exit != null && outputs.stream().allMatch(ReceiveBuffer::isComplete);
  }

  // ---- frames of the guest, on the connection's reader thread

  void frame(Connection from, int type, ByteBuffer payload) throws ProtocolViolation {
    lock.lock();
    try {
      if (closed || failure != null || from.isClosed()) {
        return;
      }
      if (connection != from) {
        throw new ProtocolViolation("A frame for stream " + id + " before it was resumed");
      }
      PayloadReader reader = new PayloadReader(payload);
      switch (type) {
        case Protocol.DATA -> data(reader);
        case Protocol.EOF -> end(reader);
        case Protocol.CREDIT -> credit(reader);
        case Protocol.SPAWNED -> spawned(reader);
        case Protocol.STARTED -> started(reader);
        case Protocol.FAILED -> failed(reader);
        case Protocol.EXIT -> exit(reader);
        default -> throw new ProtocolViolation("Type 0x%02x in a stream".formatted(type));
      }
    } finally {
      lock.unlock();
    }
  }

  private void data(PayloadReader reader) throws ProtocolViolation {
    int channel = outputChannel(reader);
    long offset = reader.u64();
    int count = reader.rest().remaining();
    if (count < 1 || count > Protocol.MAX_DATA) {
      throw new ProtocolViolation("Data of " + count + " bytes");
    }
    output(channel).accept(offset, reader.rest());
    readable.get(channel - 1).signal();
  }

  private void end(PayloadReader reader) throws ProtocolViolation {
    int channel = outputChannel(reader);
    long length = reader.u64();
    reader.end();
    ReceiveBuffer buffer = output(channel);
    if (buffer.isComplete() && !buffer.isAbsent() && !resumed) {
      throw new ProtocolViolation("A channel ends twice");
    }
    buffer.acceptEnd(length);
    readable.get(channel - 1).signalAll();
  }

  private void credit(PayloadReader reader) throws ProtocolViolation {
    int channel = reader.u8();
    long consumed = reader.u64();
    long limit = reader.u64();
    reader.end();
    if (channel != Protocol.IN || !hasInput) {
      throw new ProtocolViolation("Credit for a channel that does not go to the guest");
    }
    input.accept(consumed, limit);
    writable.signal();
  }

  private void spawned(PayloadReader reader) throws ProtocolViolation {
    long announced = reader.u32();
    reader.end();
    if (!process || pid != 0 || announced == 0 || announced > Integer.MAX_VALUE) {
      throw new ProtocolViolation("SPAWNED with pid " + announced);
    }
    pid = (int) announced;
    stateChanged.signalAll();
  }

  private void started(PayloadReader reader) throws ProtocolViolation {
    reader.end();
    if (!process || pid == 0 || (started && !resumed)) {
      throw new ProtocolViolation("STARTED out of turn");
    }
    started = true;
    stateChanged.signalAll();
  }

  private void failed(PayloadReader reader) throws ProtocolViolation {
    int errno = reader.i32();
    int stage = reader.u8();
    reader.end();
    if (started && !resumed) {
      throw new ProtocolViolation("FAILED after STARTED");
    }
    fail(StartFailures.of(errno, stage));
  }

  private void exit(PayloadReader reader) throws ProtocolViolation {
    int how = reader.u8();
    long value = reader.u32();
    long userMicros = reader.u64();
    long systemMicros = reader.u64();
    long maxResident = reader.u64();
    reader.end();
    boolean exited = how == Protocol.EXITED;
    if ((process && !started)
        || (exit != null && !resumed)
        || how < Protocol.EXITED
        || how > Protocol.KILLED
        || (how == Protocol.KILLED && (value < 1 || value > Protocol.MAX_SIGNAL))
        || (process && exited && value > 255)) {
      throw new ProtocolViolation("EXIT %d with value %d out of turn".formatted(how, value));
    }
    exit =
        new ProcessExit(
            exited ? OptionalInt.of((int) value) : OptionalInt.empty(),
            exited ? OptionalInt.empty() : OptionalInt.of((int) value),
            micros(userMicros),
            micros(systemMicros),
            maxResident);
    wakeAll();
  }

  private static Duration micros(long micros) {
    return Duration.of(micros, java.time.temporal.ChronoUnit.MICROS);
  }

  private int outputChannel(PayloadReader reader) throws ProtocolViolation {
    int channel = reader.u8();
    if (channel != Protocol.OUT && channel != Protocol.ERR) {
      throw new ProtocolViolation("Data of channel " + channel);
    }
    return channel;
  }

  // ---- towards the user

  /**
   * Waits for SPAWNED.
   *
   * @throws GuestException when it fails or {@code nanos} pass
   */
  int awaitSpawned(long nanos) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      awaitState(() -> pid != 0, nanos);
      return pid;
    } finally {
      lock.unlock();
    }
  }

  void go() {
    lock.lock();
    try {
      goSent = true;
      if (connection != null) {
        connection.offer(Frames.empty(Protocol.GO, id));
      }
    } finally {
      lock.unlock();
    }
  }

  void awaitStarted(long nanos) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      awaitState(() -> started, nanos);
    } finally {
      lock.unlock();
    }
  }

  private void awaitState(java.util.function.BooleanSupplier reached, long nanos)
      throws InterruptedException {
    long left = nanos;
    while (true) {
      if (failure != null) {
        throw again(failure);
      }
      if (reached.getAsBoolean()) {
        return;
      }
      if (closed) {
        throw letGo();
      }
      if (left <= 0) {
        throw new GuestException(
            GuestException.Kind.LOST, 0, "The guest did not answer in time; is it paused?");
      }
      left = stateChanged.awaitNanos(left);
    }
  }

  Optional<ProcessExit> awaitExit(long nanos) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      long left = nanos;
      while (exit == null) {
        if (failure != null) {
          throw again(failure);
        }
        if (closed) {
          throw letGo();
        }
        if (left <= 0) {
          return Optional.empty();
        }
        left = stateChanged.awaitNanos(left);
      }
      return Optional.of(exit);
    } finally {
      lock.unlock();
    }
  }

  /** Reads from an output; blocks. Returns -1 at its end. */
  int read(int channel, byte[] target, int start, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    lock.lock();
    try {
      ReceiveBuffer buffer = output(channel);
      buffer.release();
      sendCredit(channel, buffer);
      while (buffer.available() == 0) {
        if (closed) {
          throw new IOException("The stream was closed");
        }
        if (buffer.isAtEnd()) {
          return -1;
        }
        if (failure != null) {
          throw new IOException(failure.getMessage(), again(failure));
        }
        await(readable.get(channel - 1));
      }
      return buffer.read(target, start, Math.min(length, MAX_READ));
    } finally {
      lock.unlock();
    }
  }

  int available(int channel) {
    lock.lock();
    try {
      return output(channel).available();
    } finally {
      lock.unlock();
    }
  }

  private void sendCredit(int channel, ReceiveBuffer buffer) {
    if (connection != null && buffer.isCreditDue()) {
      connection.offer(buffer.credit(id, channel));
    }
  }

  /** Writes all of it to channel 0; blocks while the guest gives no credit. */
  void write(byte[] bytes, int start, int length) throws IOException {
    int position = start;
    int end = start + length;
    while (position < end) {
      Connection used;
      lock.lock();
      try {
        while (true) {
          refuseBrokenPipe();
          if (connection != null && input.allowed() > 0) {
            break;
          }
          await(writable);
        }
        used = requireNonNull(connection);
        int count = Math.min(Math.min(end - position, Protocol.MAX_DATA), input.allowed());
        used.offer(input.data(id, bytes, position, count));
        position += count;
        if (input.allowed() > 0) {
          // Several threads may wait: each hands on what it leaves.
          writable.signal();
        }
      } finally {
        lock.unlock();
      }
      try {
        used.awaitRoom();
      } catch (InterruptedException e) {
        throw interrupted(position - start);
      }
    }
  }

  private void refuseBrokenPipe() throws IOException {
    if (failure != null) {
      throw new IOException(failure.getMessage(), again(failure));
    }
    if (closed || input.isEnded()) {
      throw new IOException("The input was closed");
    }
    if (exit != null) {
      throw new IOException("Broken pipe: the process has ended");
    }
  }

  /** Ends channel 0; a repetition does nothing. */
  void endInput() {
    lock.lock();
    try {
      if (hasInput && !closed && failure == null && !input.isEnded()) {
        byte[] frame = input.end(id);
        if (connection != null) {
          connection.offer(frame);
        }
        writable.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Sends a frame that acts on a living process.
   *
   * @throws GuestException when the stream has failed, or no connection comes within {@code nanos}
   */
  void send(byte[] frame, long nanos) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      long left = nanos;
      while (true) {
        if (exit != null || closed) {
          return;
        }
        if (failure != null) {
          throw again(failure);
        }
        if (connection != null) {
          connection.offer(frame);
          return;
        }
        if (left <= 0) {
          throw new GuestException(GuestException.Kind.LOST, 0, "The guest is not connected");
        }
        left = stateChanged.awaitNanos(left);
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Lets go.
   *
   * @param killed true: the process is killed as well, for one that was never handed out
   * @return false when it had been closed before
   */
  boolean close(boolean killed) {
    lock.lock();
    try {
      if (closed) {
        return false;
      }
      closed = true;
      if (connection != null) {
        if (killed) {
          connection.offer(Frames.signal(id, Protocol.SIGKILL, true));
        }
        connection.offer(Frames.empty(Protocol.CLOSE, id));
        connection = null;
      }
      wakeAll();
      return true;
    } finally {
      lock.unlock();
    }
  }

  private ReceiveBuffer output(int channel) {
    return outputs.get(channel - 1);
  }

  private void wakeAll() {
    stateChanged.signalAll();
    writable.signalAll();
    readable.forEach(Condition::signalAll);
  }

  @SuppressWarnings("WaitNotInLoop") // every caller loops
  private static void await(Condition condition) throws InterruptedIOException {
    try {
      condition.await();
    } catch (InterruptedException e) {
      throw interrupted(0);
    }
  }

  private static InterruptedIOException interrupted(int transferred) {
    Thread.currentThread().interrupt();
    InterruptedIOException exception = new InterruptedIOException("Interrupted");
    exception.bytesTransferred = transferred;
    return exception;
  }

  static long nanos(Duration duration) {
    return TimeUnit.NANOSECONDS.convert(duration);
  }

  private static GuestException letGo() {
    return new GuestException(GuestException.Kind.LOST, 0, "The process was let go of");
  }

  /** A copy with the stack of the thread that meets it. */
  private static GuestException again(GuestException reason) {
    return GuestException.again(reason);
  }
}
