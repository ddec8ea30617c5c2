package dev.hopx.channel;

import static java.util.Objects.requireNonNull;

import java.io.IOException;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.Consumer;

/** File operations, each a worker in the guest. */
final class TaskFiles implements GuestFiles {
  private static final int MAX_MODE = 07777;

  private final GuestChannel channel;
  private final FileRoots roots;
  private final GuestUser user;

  TaskFiles(GuestChannel channel, FileRoots roots, GuestUser user) {
    this.channel = channel;
    this.roots = requireNonNull(roots, "roots");
    this.user = requireNonNull(user, "user");
  }

  @Override
  public FileStat stat(String path, boolean followLinks) {
    return statOf(request(Protocol.OP_STAT).path(path).u8(followLinks ? 1 : 0), path);
  }

  @Override
  public FileStat list(String path, Consumer<FileStat> entries) {
    try (Worker worker =
        start(request(Protocol.OP_LIST).path(path), Worker.Flow.OUTPUT, quoted(path))) {
      FileStat directory = worker.stat();
      FieldInput fields = worker.fields();
      try {
        for (int next = fields.u8OrEnd(); next >= 0; next = fields.u8OrEnd()) {
          String name = fields.string(next, Protocol.MAX_NAME);
          if (name.isEmpty() || name.equals(".") || name.equals("..") || name.contains("/")) {
            throw new ProtocolViolation("A directory entry named \"" + name + "\"");
          }
          entries.accept(ResultRecord.stat(fields, name));
        }
      } catch (java.io.EOFException e) {
        throw worker.died(e);
      } catch (IOException e) {
        throw worker.failed(e);
      } catch (ProtocolViolation e) {
        throw worker.violated(e);
      }
      return directory;
    }
  }

  @Override
  public GuestFileContent read(String path, long offset, OptionalLong length) {
    if (offset < 0 || length.orElse(0) < 0) {
      throw new IllegalArgumentException("Offset and length must not be negative");
    }
    Worker worker =
        start(
            request(Protocol.OP_READ)
                .path(path)
                .u64(offset)
                .u64(length.orElse(Protocol.READ_TO_END)),
            Worker.Flow.OUTPUT,
            quoted(path));
    boolean success = false;
    try {
      GuestFileContent content = new WorkerContent(worker, worker.stat());
      success = true;
      return content;
    } finally {
      if (!success) {
        worker.close();
      }
    }
  }

  @Override
  public GuestFileSink write(
      String path, OptionalInt mode, boolean createParents, boolean exclusive) {
    mode.ifPresent(TaskFiles::checkMode);
    int flags =
        (createParents ? Protocol.WRITE_PARENTS : 0) | (exclusive ? Protocol.WRITE_EXCLUSIVE : 0);
    return new WorkerSink(
        start(
            request(Protocol.OP_WRITE)
                .path(path)
                .u32(mode.orElse(Protocol.WRITE_KEEP_MODE))
                .u8(flags),
            Worker.Flow.INPUT,
            quoted(path)));
  }

  @Override
  public FileStat makeDirectory(String path, int mode, boolean createParents) {
    checkMode(mode);
    return statOf(request(Protocol.OP_MKDIR).path(path).u32(mode).u8(createParents ? 1 : 0), path);
  }

  @Override
  public void remove(String path, boolean recursive) {
    try (Worker worker =
        start(
            request(Protocol.OP_REMOVE).path(path).u8(recursive ? 1 : 0),
            Worker.Flow.NONE,
            quoted(path))) {
      var _ = worker.result();
    }
  }

  @Override
  public FileStat rename(String from, String to, boolean replace) {
    try (Worker worker =
        start(
            request(Protocol.OP_RENAME).path(from).path(to).u8(replace ? 1 : 0),
            Worker.Flow.NONE,
            "%s to %s".formatted(quoted(from), quoted(to)))) {
      return worker.stat();
    }
  }

  @Override
  public FileStat changeMode(String path, int mode) {
    checkMode(mode);
    return statOf(request(Protocol.OP_CHMOD).path(path).u32(mode), path);
  }

  @Override
  public GuestWatch watch(String path, boolean recursive) {
    Worker worker =
        start(
            request(Protocol.OP_WATCH).path(path).u8(recursive ? 1 : 0),
            Worker.Flow.OUTPUT,
            quoted(path));
    boolean success = false;
    try {
      var _ = worker.result();
      success = true;
      return new WorkerWatch(worker);
    } finally {
      if (!success) {
        worker.close();
      }
    }
  }

  private FileStat statOf(PayloadWriter request, String path) {
    try (Worker worker = start(request, Worker.Flow.NONE, quoted(path))) {
      return worker.stat();
    }
  }

  private Worker start(PayloadWriter request, Worker.Flow flow, String subject) {
    return Worker.start(channel, request, flow, subject);
  }

  private PayloadWriter request(int operation) {
    PayloadWriter request = Worker.request(operation, user).u32(roots.directories().size());
    roots.directories().forEach(request::path);
    return request;
  }

  private static String quoted(String path) {
    return "\"" + path + "\"";
  }

  private static void checkMode(int mode) {
    if (mode < 0 || mode > MAX_MODE) {
      throw new IllegalArgumentException("Permission bits are 0 to 07777");
    }
  }
}
