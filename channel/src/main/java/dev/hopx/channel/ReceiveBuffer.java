package dev.hopx.channel;

import java.nio.ByteBuffer;

/**
 * What a guest has sent on one channel and nobody has read yet. The guest may send up to the limit
 * that was announced to it, so the buffer never holds more than its window. Not thread-safe: the
 * stream's lock guards it.
 *
 * <p>What a read returned counts as consumed only when the next read begins: a reader that keeps
 * each piece safe before it asks for the next loses none when the host dies in between.
 */
final class ReceiveBuffer {
  private static final long OPEN = -1;

  private final ByteRing ring = new ByteRing();
  private final int window;
  private final int step;
  private long head;
  private long received;
  private long consumed;
  private long limit;
  private long end = OPEN;

  /** A channel that starts at {@code offset}; a {@code window} of 0 bytes is one that is absent. */
  ReceiveBuffer(int window, long offset) {
    this.window = window;
    this.step = Math.max(1, window / 4);
    this.head = offset;
    this.received = offset;
    this.consumed = offset;
    this.limit = offset;
    if (window == 0) {
      end = offset;
    }
  }

  void accept(long offset, ByteBuffer data) throws ProtocolViolation {
    if (end != OPEN) {
      throw new ProtocolViolation("Data behind the end of a channel");
    }
    if (offset != received) {
      throw new ProtocolViolation("Data at offset " + offset + " instead of " + received);
    }
    int count = data.remaining();
    if (count > limit - received) {
      throw new ProtocolViolation("Data beyond the credit");
    }
    ring.put(head, received, data);
    received += count;
  }

  /** The channel ends. A repetition is allowed: it follows a RESUME. */
  void acceptEnd(long length) throws ProtocolViolation {
    if (length != received || (end != OPEN && end != length)) {
      throw new ProtocolViolation("An end at " + length + " instead of " + received);
    }
    end = length;
  }

  /** Called when a reader comes back: what it got before is done with. */
  void release() {
    consumed = head;
  }

  int read(byte[] target, int start, int most) {
    int count = (int) Math.min(most, received - head);
    ring.get(head, target, start, count);
    head += count;
    if (head == received && end != OPEN) {
      ring.clear();
    }
    return count;
  }

  int available() {
    return (int) (received - head);
  }

  boolean isAtEnd() {
    return end != OPEN && head == end;
  }

  /** True when all has arrived. */
  boolean isComplete() {
    return end != OPEN;
  }

  boolean isAbsent() {
    return window == 0;
  }

  /** Not at each byte: a frame of credit per quarter of the window keeps the guest running. */
  boolean isCreditDue() {
    return end == OPEN && consumed + window - limit >= step;
  }

  /** The frame that announces all that may be announced now. */
  byte[] credit(long stream, int channel) {
    limit = consumed + window;
    return Frames.credit(stream, channel, consumed, limit);
  }

  long received() {
    return received;
  }
}
