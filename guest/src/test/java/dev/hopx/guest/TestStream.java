package dev.hopx.guest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.BooleanSupplier;

/**
 * The host's view of one stream. Checks the offsets of all data, so that no byte can be lost or
 * doubled unnoticed. Used by one thread.
 */
final class TestStream {
  /** Type of the frame that stands for the end of the connection. */
  static final int CUT = -1;

  private final TestGuest guest;
  private final int id;
  private final BlockingQueue<Frame> frames = new LinkedBlockingQueue<>();
  private final List<Frame> control = new ArrayList<>();
  private final List<ByteArrayOutputStream> data =
      List.of(
          new ByteArrayOutputStream(), new ByteArrayOutputStream(), new ByteArrayOutputStream());
  private final boolean[] ended = new boolean[3];
  private long sent;
  private boolean automaticCredit = true;

  TestStream(TestGuest guest, int id) {
    this.guest = guest;
    this.id = id;
  }

  int id() {
    return id;
  }

  BlockingQueue<Frame> frames() {
    return frames;
  }

  /** Full credit for both outputs from where they are. */
  TestStream grant() {
    credit(1, received(1), received(1) + Frame.MAX_WINDOW);
    return credit(2, received(2), received(2) + Frame.MAX_WINDOW);
  }

  TestStream credit(int channel, long consumed, long limit) {
    return send(Frame.CREDIT, new Payload().u8(channel).u64(consumed).u64(limit));
  }

  /** Stops giving new credit for what arrives. */
  TestStream withoutCredit() {
    automaticCredit = false;
    return this;
  }

  TestStream withCredit() {
    automaticCredit = true;
    return grant();
  }

  TestStream send(int type, Payload payload) {
    guest.send(type, id, payload.toBytes());
    return this;
  }

  TestStream go() {
    return send(Frame.GO, new Payload());
  }

  TestStream close() {
    return send(Frame.CLOSE, new Payload());
  }

  TestStream signal(int signal, boolean group) {
    return send(Frame.SIGNAL, new Payload().u32(signal).u8(group ? 1 : 0));
  }

  TestStream resume(int channel, long offset) {
    ByteArrayOutputStream channelData = data.get(channel);
    byte[] kept = channelData.toByteArray();
    channelData.reset();
    channelData.write(kept, 0, (int) offset);
    ended[channel] = false;
    return send(Frame.RESUME, new Payload().u8(channel).u64(offset));
  }

  /** Sends to channel 0 without a look at its credit, at most a window in all. */
  TestStream write(byte[] bytes) {
    for (int at = 0; at < bytes.length; at += Frame.MAX_DATA) {
      int length = Math.min(Frame.MAX_DATA, bytes.length - at);
      byte[] part = Arrays.copyOfRange(bytes, at, at + length);
      send(Frame.DATA, new Payload().u8(0).u64(sent).raw(part));
      sent += length;
    }
    return this;
  }

  TestStream write(String text) {
    return write(text.getBytes(UTF_8));
  }

  TestStream end() {
    return send(Frame.EOF, new Payload().u8(0).u64(sent));
  }

  /** Waits for a frame of the type, the first of it in the life of the stream. */
  Frame await(int type) {
    return await(type, 1);
  }

  Frame await(int type, int occurrence) {
    awaitUntil(() -> count(type) >= occurrence, "frame " + Integer.toHexString(type));
    return control.stream().filter(f -> f.type() == type).skip(occurrence - 1).findFirst().get();
  }

  long count(int type) {
    return control.stream().filter(f -> f.type() == type).count();
  }

  int pid() {
    return await(Frame.SPAWNED).number(0);
  }

  Exit awaitExit() {
    return Exit.of(await(Frame.EXIT));
  }

  /** Waits for the end of both outputs and the exit. */
  Exit awaitEnd() {
    awaitUntil(() -> ended[1] && (ended[2] || isTerminalOrMerged()), "the ends of the outputs");
    return awaitExit();
  }

  String awaitText(int channel, String expected) {
    awaitUntil(() -> text(channel).contains(expected), "'" + expected + "'");
    return text(channel);
  }

  void awaitEnd(int channel) {
    awaitUntil(() -> ended[channel], "the end of channel " + channel);
  }

  void awaitBytes(int channel, long length) {
    awaitUntil(() -> received(channel) >= length, length + " bytes");
  }

  /** Takes what has arrived within the time, for checks that nothing does. */
  void settle(long milliseconds) throws InterruptedException {
    Thread.sleep(milliseconds);
    while (!frames.isEmpty()) {
      handle(TestGuest.take(frames));
    }
  }

  long received(int channel) {
    return data.get(channel).size();
  }

  byte[] bytes(int channel) {
    return data.get(channel).toByteArray();
  }

  String text(int channel) {
    return data.get(channel).toString(UTF_8);
  }

  /** The record of a worker. */
  TaskRecord record() {
    awaitEnd(2);
    return TaskRecord.read(ByteBuffer.wrap(bytes(2)));
  }

  private boolean isTerminalOrMerged() {
    return mergedOutputs;
  }

  private boolean mergedOutputs;

  /** Channel 2 does not exist, so that its end is not waited for. */
  TestStream oneOutput() {
    mergedOutputs = true;
    return this;
  }

  private void awaitUntil(BooleanSupplier condition, String what) {
    while (!condition.getAsBoolean()) {
      Frame frame = TestGuest.take(frames);
      if (frame.type() == CUT) {
        throw new AssertionError("the guest was lost while waiting for " + what);
      }
      handle(frame);
      if (frame.type() == Frame.FAILED && !condition.getAsBoolean()) {
        throw new AssertionError("failed with errno " + frame.number(0) + ", waiting for " + what);
      }
    }
  }

  /** Forgets what came over the old connection and was not looked at. */
  TestStream forgetQueued() {
    frames.clear();
    return this;
  }

  /** Full credit after a resume, which repeats what was consumed before. */
  TestStream grantFrom(long consumed) {
    credit(1, consumed, consumed + Frame.MAX_WINDOW);
    return credit(2, received(2), received(2) + Frame.MAX_WINDOW);
  }

  /** Sends the rest of a content again from where the guest has it. */
  TestStream rewriteFrom(byte[] content, long offset) {
    sent = offset;
    return write(Arrays.copyOfRange(content, (int) offset, content.length));
  }

  /** Forgets the end of a connection that the test itself has closed. */
  TestStream reconnected() {
    frames.removeIf(frame -> frame.type() == CUT);
    return this;
  }

  private void handle(Frame frame) {
    ByteBuffer buffer = frame.buffer();
    if (frame.type() == Frame.DATA) {
      int channel = buffer.get();
      assertThat(buffer.getLong()).as("offset on channel " + channel).isEqualTo(received(channel));
      assertThat(buffer.remaining()).isBetween(1, Frame.MAX_DATA);
      data.get(channel).write(frame.payload(), buffer.position(), buffer.remaining());
      if (automaticCredit) {
        credit(channel, received(channel), received(channel) + Frame.MAX_WINDOW);
      }
    } else if (frame.type() == Frame.EOF) {
      int channel = buffer.get();
      assertThat(buffer.getLong()).as("length of channel " + channel).isEqualTo(received(channel));
      assertThat(ended[channel]).as("a second end").isFalse();
      ended[channel] = true;
    } else {
      control.add(frame);
    }
  }

  /** How a process ended. */
  record Exit(int how, int value, long userMicros, long systemMicros, long peakKibibytes) {
    static final int EXITED = 1;
    static final int KILLED = 2;

    static Exit of(Frame frame) {
      ByteBuffer buffer = frame.buffer();
      return new Exit(
          buffer.get(), buffer.getInt(), buffer.getLong(), buffer.getLong(), buffer.getLong());
    }
  }
}
