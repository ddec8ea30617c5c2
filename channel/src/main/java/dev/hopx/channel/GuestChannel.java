package dev.hopx.channel;

import static java.util.Objects.requireNonNull;

import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The Java end of one guest's channel. It outlives connections: while the guest dials again, its
 * processes wait, and go on without a lost byte. Made by {@link GuestListener}, which gives it
 * connections after their handshake. Owns the current connection and all streams; closing it ends
 * them on this side and leaves the guest's processes alone. Thread-safe; every method may block and
 * is meant for virtual threads.
 *
 * <p>Lock order: the channel's lock, then a stream's, then an outbox's.
 */
public final class GuestChannel implements Guest, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(GuestChannel.class);

  private final String name;
  private final ChannelSettings settings;
  private final Map<Long, GuestStream> streams = new ConcurrentHashMap<>();
  private final FrameReceiver receiver = new FrameReceiver();

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final TreeMap<Long, ListedStream> adoptable = new TreeMap<>();
  private final List<ListedStream> listed = new ArrayList<>();

  /** Streams of an earlier owner that were resumed or released here: never to be adopted again. */
  private final Set<Long> givenUp = new HashSet<>();

  private final List<Consumer<GuestException>> endListeners = new ArrayList<>();
  private @Nullable Connection current;
  private @Nullable Connection listing;
  private @Nullable GuestException ended;
  private @Nullable Deadline patience;
  private @Nullable String bootId;
  private long firstId;
  private volatile long lastId;
  private @Nullable Ping outstanding;

  GuestChannel(String name, ChannelSettings settings) {
    this.name = requireNonNull(name, "name");
    this.settings = requireNonNull(settings, "settings");
  }

  // ---- connections, given by the listener

  /** True when a guest with this boot id may connect. */
  boolean accepts(String boot) {
    lock.lock();
    try {
      return ended == null && (bootId == null || bootId.equals(boot));
    } finally {
      lock.unlock();
    }
  }

  /**
   * Takes over a connection behind its WELCOME: asks what the guest has, then resumes. An older
   * connection is dropped: the guest dials only when it has lost it. Returns when the streams go on
   * or the connection has ended; the caller's deadline closes the socket of one that stalls.
   *
   * @param highest highest stream id the guest has seen
   */
  void connected(SocketChannel socket, String boot, long highest)
      throws ProtocolViolation, InterruptedException {
    Connection connection = new Connection(name, socket, receiver);
    lock.lock();
    try {
      if (ended != null) {
        connection.close();
        return;
      }
      if (bootId == null) {
        bootId = boot;
        firstId = highest + 1;
        lastId = highest;
      } else if (highest > lastId) {
        throw new ProtocolViolation("Stream " + highest + " was never opened by the host");
      }
      Connection old = current != null ? current : listing;
      if (old != null) {
        old.close();
        detachStreams();
      }
      current = null;
      listing = connection;
      listed.clear();
      connection.offer(Frames.empty(Protocol.LIST, 0));
    } finally {
      lock.unlock();
    }
    connection.start();
    lock.lockInterruptibly();
    try {
      while (listing == connection) {
        changed.await();
      }
    } finally {
      lock.unlock();
    }
  }

  private void detachStreams() {
    current = null;
    outstanding = null;
    for (GuestStream stream : streams.values()) {
      stream.detach();
    }
    if (patience == null && ended == null && bootId != null) {
      patience = Deadline.after("hopx-channel-lost " + name, settings.reconnect(), this::giveUp);
    }
    changed.signalAll();
  }

  /** The guest has not come back in time. The channel stays open for it, its streams do not. */
  private void giveUp() {
    lock.lock();
    try {
      patience = null;
      if (current == null && ended == null) {
        LOG.warn("{}: the guest did not dial again within {}", name, settings.reconnect());
        failStreams(
            new GuestException(
                GuestException.Kind.LOST,
                0,
                "The guest did not come back within " + settings.reconnect().toMillis() + " ms"));
      }
    } finally {
      lock.unlock();
    }
  }

  private void failStreams(GuestException reason) {
    for (GuestStream stream : streams.values()) {
      stream.fail(reason);
    }
    streams.clear();
  }

  private void end(GuestException reason) {
    List<Consumer<GuestException>> listeners;
    lock.lock();
    try {
      if (ended != null) {
        return;
      }
      ended = reason;
      if (patience != null) {
        patience.close();
        patience = null;
      }
      for (Connection connection : new Connection[] {current, listing}) {
        if (connection != null) {
          connection.close();
        }
      }
      current = null;
      listing = null;
      outstanding = null;
      failStreams(reason);
      adoptable.clear();
      listeners = List.copyOf(endListeners);
      endListeners.clear();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    listeners.forEach(listener -> listener.accept(reason));
  }

  /** The guest is not to be trusted any more: the end of the channel. */
  void broken(ProtocolViolation violation) {
    LOG.warn("{}: the guest broke the protocol and was cut off: {}", name, violation.getMessage());
    end(
        new GuestException(
            GuestException.Kind.PROTOCOL,
            "The sandbox's process 1 broke the protocol: " + violation.getMessage(),
            violation));
  }

  /** Frames of whatever connection; old ones are known by not being current. */
  private final class FrameReceiver implements Connection.Owner {
    @Override
    public void frame(Connection from, int type, long stream, ByteBuffer payload)
        throws ProtocolViolation {
      switch (type) {
        case Protocol.PING -> {
          PayloadReader reader = connectionFrame(stream, payload);
          long value = reader.i64();
          reader.end();
          from.offer(Frames.ping(Protocol.PONG, value));
        }
        case Protocol.PONG -> {
          PayloadReader reader = connectionFrame(stream, payload);
          long value = reader.i64();
          reader.end();
          pong(from, value);
        }
        case Protocol.STREAMS -> {
          connectionFrame(stream, payload);
          listed(from, ListedStream.parse(payload));
        }
        default -> streamFrame(from, type, stream, payload);
      }
    }

    private PayloadReader connectionFrame(long stream, ByteBuffer payload)
        throws ProtocolViolation {
      if (stream != 0) {
        throw new ProtocolViolation("A frame of the connection for stream " + stream);
      }
      return new PayloadReader(payload);
    }

    private void streamFrame(Connection from, int type, long id, ByteBuffer payload)
        throws ProtocolViolation {
      if (id == 0 || id > lastId) {
        throw new ProtocolViolation("Type 0x%02x for stream %d".formatted(type, id));
      }
      GuestStream stream = streams.get(id);
      if (stream != null) {
        stream.frame(from, type, payload);
      }
    }

    @Override
    public void ended(Connection from, String why) {
      lock.lock();
      try {
        if (from == listing) {
          listing = null;
          listed.clear();
          changed.signalAll();
          LOG.info("{}: a connection ended before it was used: {}", name, why);
        } else if (from == current) {
          LOG.info("{}: the connection to the guest is lost: {}", name, why);
          detachStreams();
        }
      } finally {
        lock.unlock();
      }
    }

    @Override
    public void violated(Connection from, ProtocolViolation violation) {
      lock.lock();
      try {
        if (from != listing && from != current) {
          return;
        }
      } finally {
        lock.unlock();
      }
      broken(violation);
    }
  }

  private void listed(Connection from, ListedStream.Page page) throws ProtocolViolation {
    lock.lock();
    try {
      if (from != listing) {
        if (from.isClosed()) {
          return;
        }
        throw new ProtocolViolation("A list that was not asked for");
      }
      listed.addAll(page.streams());
      if (listed.size() > Protocol.MAX_STREAMS) {
        throw new ProtocolViolation("More streams than there may be");
      }
      if (!page.more()) {
        resumeAll(from);
        listed.clear();
        listing = null;
        current = from;
        if (patience != null) {
          patience.close();
          patience = null;
        }
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  private void resumeAll(Connection to) throws ProtocolViolation {
    Set<Long> ids = new HashSet<>();
    TreeMap<Long, ListedStream> foreign = new TreeMap<>();
    for (ListedStream entry : listed) {
      if (entry.stream() > lastId || !ids.add(entry.stream())) {
        throw new ProtocolViolation("Stream " + entry.stream() + " is listed");
      }
      GuestStream stream = streams.get(entry.stream());
      if (stream != null) {
        stream.attach(to, entry);
      } else if (entry.stream() < firstId && !givenUp.contains(entry.stream())) {
        foreign.put(entry.stream(), entry);
      } else {
        to.offer(Frames.empty(Protocol.CLOSE, entry.stream()));
      }
    }
    adoptable.clear();
    adoptable.putAll(foreign);
    for (GuestStream stream : streams.values()) {
      if (!ids.contains(stream.id())) {
        stream.forgotten();
      }
    }
  }

  // ---- state

  /**
   * Waits until the guest is connected and its streams have been resumed.
   *
   * @throws GuestException {@code LOST} after {@code timeout} or when closed, {@code PROTOCOL} when
   *     the guest broke the protocol or speaks another version
   */
  public void awaitConnected(Duration timeout) throws InterruptedException {
    var _ = awaitConnection(GuestStream.nanos(timeout));
  }

  public boolean isConnected() {
    lock.lock();
    try {
      return current != null;
    } finally {
      lock.unlock();
    }
  }

  /** Random name, in hex, that the guest's process 1 gave itself; empty before it connected. */
  public Optional<String> bootId() {
    lock.lock();
    try {
      return Optional.ofNullable(bootId);
    } finally {
      lock.unlock();
    }
  }

  /** Why the channel cannot be used any more; empty while it can. */
  public Optional<GuestException> failure() {
    lock.lock();
    try {
      return Optional.ofNullable(ended);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Calls {@code listener} once when the channel has ended: {@code PROTOCOL} when the guest broke
   * the protocol, {@code LOST} when it was closed; at once when that has happened already. It must
   * not block: it may run on the thread that reads the connection.
   */
  public void whenEnded(Consumer<GuestException> listener) {
    GuestException reason;
    lock.lock();
    try {
      reason = ended;
      if (reason == null) {
        endListeners.add(listener);
        return;
      }
    } finally {
      lock.unlock();
    }
    listener.accept(reason);
  }

  private Connection awaitConnection(long nanos) throws InterruptedException {
    long left = nanos;
    lock.lockInterruptibly();
    try {
      while (true) {
        if (ended != null) {
          throw GuestException.again(ended);
        }
        if (current != null && !current.isClosed()) {
          return current;
        }
        if (left <= 0) {
          throw new GuestException(GuestException.Kind.LOST, 0, "The guest is not connected");
        }
        left = changed.awaitNanos(left);
      }
    } finally {
      lock.unlock();
    }
  }

  /** A question to the guest that has no answer yet; all who ask meanwhile share it. */
  private static final class Ping {
    private final long value = ThreadLocalRandom.current().nextLong();
    private final long sent = System.nanoTime();
    private boolean answered;
    private long nanos;
  }

  /**
   * Asks the guest for a sign of life.
   *
   * @return the time its answer took
   * @throws GuestException {@code LOST} when none came within {@code timeout}
   */
  public Duration ping(Duration timeout) throws InterruptedException {
    long deadline = System.nanoTime() + GuestStream.nanos(timeout);
    Connection connection = awaitConnection(GuestStream.nanos(timeout));
    lock.lockInterruptibly();
    try {
      // A paused guest is asked once, however often its owner looks: nothing piles up.
      if (outstanding == null && connection == current) {
        outstanding = new Ping();
        connection.offer(Frames.ping(Protocol.PING, outstanding.value));
      }
      Ping ping = outstanding;
      while (true) {
        if (ended != null) {
          throw GuestException.again(ended);
        }
        if (ping != null && ping.answered) {
          return Duration.ofNanos(ping.nanos);
        }
        long left = deadline - System.nanoTime();
        if (left <= 0 || ping == null || connection != current) {
          throw new GuestException(
              GuestException.Kind.LOST,
              0,
              "The guest did not answer within " + timeout.toMillis() + " ms; is it paused?");
        }
        var _ = changed.awaitNanos(left);
      }
    } finally {
      lock.unlock();
    }
  }

  private void pong(Connection from, long value) throws ProtocolViolation {
    lock.lock();
    try {
      if (from.isClosed()) {
        return;
      }
      if (outstanding == null || from != current || outstanding.value != value) {
        throw new ProtocolViolation("An answer without a question");
      }
      outstanding.nanos = System.nanoTime() - outstanding.sent;
      outstanding.answered = true;
      outstanding = null;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  // ---- processes

  @Override
  public GuestProcess start(Spawn spawn) {
    return ProcessStart.of(this, settings, spawn, Optional.empty());
  }

  /** As {@link #start(Spawn)}, for an owner that puts each process into a control group. */
  public GuestProcess start(Spawn spawn, SpawnHook hook) {
    return ProcessStart.of(this, settings, spawn, Optional.of(hook));
  }

  /**
   * What the guest has from an earlier owner, by stream id: to be resumed or released. Known once
   * the guest is connected.
   */
  public List<AdoptableProcess> adoptable() {
    lock.lock();
    try {
      return adoptable.values().stream().map(GuestChannel::describe).toList();
    } finally {
      lock.unlock();
    }
  }

  private static AdoptableProcess describe(ListedStream listed) {
    return new AdoptableProcess(
        listed.stream(),
        listed.pid(),
        switch (listed.state()) {
          case Protocol.STATE_HELD -> AdoptableProcess.State.HELD;
          case Protocol.STATE_RUNNING -> AdoptableProcess.State.RUNNING;
          default -> AdoptableProcess.State.EXITED;
        },
        listed.tag(),
        listed.has(Protocol.SPAWN_PTY),
        listed.has(Protocol.SPAWN_KEEP),
        listed.channels().get(Protocol.IN).state() == Protocol.CHANNEL_OPEN,
        describe(listed.channels().get(Protocol.OUT)),
        describe(listed.channels().get(Protocol.ERR)));
  }

  private static AdoptableProcess.Output describe(ListedStream.Channel channel) {
    return new AdoptableProcess.Output(
        channel.consumed(), channel.sent(), channel.state() != Protocol.CHANNEL_OPEN);
  }

  /** Goes on with a process of an earlier owner, from what that one had consumed. */
  public GuestProcess resume(AdoptableProcess process, SpawnHook hook) {
    return resume(process, process.stdout().consumed(), process.stderr().consumed(), hook);
  }

  /**
   * As {@link #resume(AdoptableProcess, SpawnHook)}, from the given offsets of its outputs, each
   * between what was consumed and what was sent.
   *
   * @throws GuestException {@code NOT_FOUND} when the process is not, or not any more, to be
   *     adopted; {@code LOST} when the guest is not connected
   */
  public GuestProcess resume(
      AdoptableProcess process, long stdoutOffset, long stderrOffset, SpawnHook hook) {
    requireNonNull(hook, "hook");
    checkOffset("stdout", stdoutOffset, process.stdout());
    checkOffset("stderr", stderrOffset, process.stderr());
    ProtocolViolation violation;
    lock.lock();
    try {
      ListedStream entry = takeAdoptable(process);
      Connection connection = current;
      if (entry == null) {
        throw unknown(process);
      }
      if (connection == null) {
        throw new GuestException(GuestException.Kind.LOST, 0, "The guest is not connected");
      }
      if (entry.state() == Protocol.STATE_HELD) {
        throw new GuestException(
            GuestException.Kind.NOT_FOUND,
            0,
            "Process " + process.pid() + " was never started; release it");
      }
      GuestStream stream = GuestStream.ofAdopted(entry, stdoutOffset, stderrOffset);
      adoptable.remove(entry.stream());
      givenUp.add(entry.stream());
      // Known before it is resumed: the guest may answer at once.
      streams.put(entry.stream(), stream);
      stream.attach(connection, entry);
      return new StreamProcess(this, settings, stream, entry.pid(), Optional.of(hook));
    } catch (ProtocolViolation e) {
      violation = e;
    } finally {
      lock.unlock();
    }
    broken(violation);
    throw new GuestException(GuestException.Kind.PROTOCOL, "The guest's list was wrong", violation);
  }

  /**
   * Forgets a process of an earlier owner and what the guest retains of it; one that was still held
   * is killed, any other goes on.
   */
  public void release(AdoptableProcess process) {
    lock.lock();
    try {
      ListedStream entry = takeAdoptable(process);
      if (entry == null) {
        return;
      }
      adoptable.remove(entry.stream());
      givenUp.add(entry.stream());
      if (current != null) {
        if (entry.state() == Protocol.STATE_HELD) {
          current.offer(Frames.signal(entry.stream(), Protocol.SIGKILL, false));
        }
        current.offer(Frames.empty(Protocol.CLOSE, entry.stream()));
      }
    } finally {
      lock.unlock();
    }
  }

  private @Nullable ListedStream takeAdoptable(AdoptableProcess process) {
    ListedStream entry = adoptable.get(process.stream());
    return entry != null && entry.pid() == process.pid() ? entry : null;
  }

  private static GuestException unknown(AdoptableProcess process) {
    return new GuestException(
        GuestException.Kind.NOT_FOUND,
        0,
        "Process " + process.pid() + " is not one that could be adopted");
  }

  private static void checkOffset(String output, long offset, AdoptableProcess.Output known) {
    if (offset < known.consumed() || offset > known.sent()) {
      throw new IllegalArgumentException(
          "The offset %d of %s is not between %d and %d"
              .formatted(offset, output, known.consumed(), known.sent()));
    }
  }

  // ---- files and connections

  @Override
  public GuestFiles files(FileRoots roots, GuestUser user) {
    return new TaskFiles(this, roots, user);
  }

  @Override
  public GuestConnection dial(String host, int port) {
    return TaskConnection.dial(this, host, port);
  }

  // ---- streams

  /**
   * Opens a stream: waits for a connection and for room in its outbox, then sends the request.
   *
   * @param request makes the first frame for a stream id
   */
  GuestStream open(LongFunction<GuestStream> streamOf, LongFunction<byte[]> request)
      throws InterruptedException {
    long deadline = System.nanoTime() + GuestStream.nanos(settings.reconnect());
    while (true) {
      Connection connection = awaitConnection(deadline - System.nanoTime());
      if (!connection.awaitRoom(GuestStream.nanos(settings.answer()))) {
        throw new GuestException(
            GuestException.Kind.LOST, 0, "The guest does not read; is it paused?");
      }
      lock.lockInterruptibly();
      try {
        if (connection != current) {
          continue;
        }
        if (streams.size() + adoptable.size() >= Protocol.MAX_STREAMS) {
          throw new GuestException(
              GuestException.Kind.EXHAUSTED,
              0,
              "More than " + Protocol.MAX_STREAMS + " processes and file operations at a time");
        }
        if (lastId == Protocol.MAX_STREAM_ID) {
          throw new GuestException(
              GuestException.Kind.EXHAUSTED, 0, "The sandbox has used all its stream ids");
        }
        // The id is taken and sent under one lock: ids must grow on the wire.
        long id = lastId + 1;
        byte[] frame = request.apply(id);
        GuestStream stream = streamOf.apply(id);
        lastId = id;
        streams.put(id, stream);
        stream.open(connection, frame);
        return stream;
      } finally {
        lock.unlock();
      }
    }
  }

  void forget(GuestStream stream) {
    streams.remove(stream.id(), stream);
  }

  int liveStreams() {
    return streams.size();
  }

  String name() {
    return name;
  }

  /**
   * Ends the channel on this side: everything that waits fails with {@code LOST} at once. The
   * guest's processes are left alone. Idempotent.
   */
  @Override
  public void close() {
    end(new GuestException(GuestException.Kind.LOST, 0, "The sandbox is gone"));
  }
}
