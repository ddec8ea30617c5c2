package dev.hopx.guest;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** An entry of STREAMS. */
record ListedStream(
    int stream, int kind, int pid, int state, int flags, String tag, List<Channel> channels) {
  static final int HELD = 1;
  static final int RUNNING = 2;
  static final int EXITED = 3;

  record Channel(int state, long consumed, long sent) {}

  static ListedStream read(ByteBuffer buffer) {
    int stream = buffer.getInt();
    int kind = buffer.get();
    int pid = buffer.getInt();
    int state = buffer.get();
    int flags = buffer.getInt();
    byte[] tag = new byte[buffer.getInt()];
    buffer.get(tag);
    List<Channel> channels = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      channels.add(new Channel(buffer.get(), buffer.getLong(), buffer.getLong()));
    }
    return new ListedStream(stream, kind, pid, state, flags, new String(tag, UTF_8), channels);
  }
}
