package dev.hopx.channel;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** One entry of STREAMS, checked. */
record ListedStream(
    long stream, int kind, int pid, int state, int flags, String tag, List<Channel> channels) {
  record Channel(int state, long consumed, long sent) {}

  /** One frame of a list. */
  record Page(boolean more, List<ListedStream> streams) {}

  static Page parse(ByteBuffer payload) throws ProtocolViolation {
    PayloadReader reader = new PayloadReader(payload);
    int more = reader.u8();
    if (more > 1) {
      throw new ProtocolViolation("A list that goes on " + more);
    }
    long count = reader.u32();
    if (count > Protocol.MAX_STREAMS) {
      throw new ProtocolViolation("A list of " + count + " streams");
    }
    List<ListedStream> streams = new ArrayList<>();
    for (long i = 0; i < count; i++) {
      streams.add(entry(reader));
    }
    reader.end();
    return new Page(more == 1, streams);
  }

  boolean has(int flag) {
    return (flags & flag) != 0;
  }

  boolean isExited() {
    return state == Protocol.STATE_EXITED;
  }

  private static ListedStream entry(PayloadReader reader) throws ProtocolViolation {
    long stream = reader.u32();
    int kind = reader.u8();
    long pid = reader.u32();
    int state = reader.u8();
    long flags = reader.u32();
    String tag = reader.string(Protocol.MAX_TAG);
    if (stream == 0
        || kind != Protocol.KIND_PROCESS
        || pid == 0
        || pid > Integer.MAX_VALUE
        || state < Protocol.STATE_HELD
        || state > Protocol.STATE_EXITED
        || flags > Protocol.SPAWN_FLAGS) {
      throw new ProtocolViolation(
          "Stream %d listed with kind %d, pid %d, state %d, flags %d"
              .formatted(stream, kind, pid, state, flags));
    }
    List<Channel> channels = new ArrayList<>(Protocol.CHANNELS);
    for (int channel = 0; channel < Protocol.CHANNELS; channel++) {
      channels.add(channel(reader));
    }
    return new ListedStream(stream, kind, (int) pid, state, (int) flags, tag, channels);
  }

  private static Channel channel(PayloadReader reader) throws ProtocolViolation {
    int state = reader.u8();
    long consumed = reader.u64();
    long sent = reader.u64();
    if (state > Protocol.CHANNEL_ENDED
        || consumed > sent
        || sent - consumed > Protocol.MAX_WINDOW) {
      throw new ProtocolViolation(
          "A channel listed with state %d, %d consumed, %d sent".formatted(state, consumed, sent));
    }
    return new Channel(state, consumed, sent);
  }
}
