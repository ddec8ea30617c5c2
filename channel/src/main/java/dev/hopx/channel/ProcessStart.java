package dev.hopx.channel;

import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Starting one process: SPAWN, SPAWNED, the owner's placement, GO, STARTED. */
final class ProcessStart {
  private static final int UMASK = 0022;

  private ProcessStart() {}

  static GuestProcess of(
      GuestChannel channel, ChannelSettings settings, Spawn spawn, Optional<SpawnHook> hook) {
    boolean hasInput = spawn.stdinPipe() || spawn.terminal().isPresent();
    boolean hasErrors = !spawn.mergeStderr() && spawn.terminal().isEmpty();
    // Encoded once before anything is opened: a text that cannot be sent opens no stream.
    byte[] frame = encode(spawn, hook.isPresent());
    boolean success = false;
    GuestStream stream = null;
    try {
      stream =
          channel.open(
              id -> GuestStream.ofProcess(id, hasInput, hasErrors),
              id -> {
                java.nio.ByteBuffer.wrap(frame).putInt(5, (int) id);
                return frame;
              });
      long answer = GuestStream.nanos(settings.answer());
      int pid = stream.awaitSpawned(answer);
      if (hook.isPresent()) {
        hook.get().placed(pid);
        stream.go();
      }
      stream.awaitStarted(answer);
      success = true;
      return new StreamProcess(channel, settings, stream, pid, hook);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new GuestException(
          GuestException.Kind.LOST, "Interrupted while starting " + program(spawn), e);
    } catch (GuestException e) {
      throw GuestException.about(subject(spawn), e);
    } finally {
      if (!success) {
        if (stream != null) {
          channel.forget(stream);
          var _ = stream.close(true);
        }
        hook.ifPresent(SpawnHook::released);
      }
    }
  }

  private static byte[] encode(Spawn spawn, boolean hold) {
    int flags = 0;
    if (spawn.terminal().isPresent()) {
      flags |= Protocol.SPAWN_PTY | Protocol.SPAWN_STDIN;
    }
    if (spawn.stdinPipe()) {
      flags |= Protocol.SPAWN_STDIN;
    }
    if (hold) {
      flags |= Protocol.SPAWN_HOLD;
    }
    if (spawn.keep()) {
      flags |= Protocol.SPAWN_KEEP;
    }
    if (spawn.mergeStderr()) {
      flags |= Protocol.SPAWN_MERGE;
    }
    if (spawn.tag().getBytes(java.nio.charset.StandardCharsets.UTF_8).length > Protocol.MAX_TAG) {
      throw new IllegalArgumentException("A tag has at most " + Protocol.MAX_TAG + " bytes");
    }
    PayloadWriter writer =
        new PayloadWriter()
            .u32(flags)
            .u32(spawn.user().uid())
            .u32(spawn.user().gid())
            .u16(spawn.terminal().map(Spawn.TerminalSize::columns).orElse(0))
            .u16(spawn.terminal().map(Spawn.TerminalSize::rows).orElse(0))
            .u32(UMASK)
            .string("tag", spawn.tag())
            .path(spawn.workingDirectory())
            .u32(0)
            .u32(spawn.argv().size());
    for (String argument : spawn.argv()) {
      writer.string("argument", argument);
    }
    writer.u32(spawn.environment().size());
    for (Map.Entry<String, String> variable : new TreeMap<>(spawn.environment()).entrySet()) {
      if (variable.getKey().isEmpty() || variable.getKey().contains("=")) {
        throw new GuestException(
            GuestException.Kind.INVALID_PATH,
            Errno.EINVAL,
            "A variable's name must not be empty or hold '=': \"%s\"".formatted(variable.getKey()));
      }
      writer.string("variable " + variable.getKey(), variable.getKey() + "=" + variable.getValue());
    }
    return writer.frame(Protocol.SPAWN, 0);
  }

  private static String program(Spawn spawn) {
    return "\"%s\"".formatted(spawn.argv().getFirst());
  }

  private static String subject(Spawn spawn) {
    return "%s in \"%s\"".formatted(program(spawn), spawn.workingDirectory());
  }
}
