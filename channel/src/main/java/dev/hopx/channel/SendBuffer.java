package dev.hopx.channel;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * The host's side of channel 0: what the guest allows, and, for a process, what was sent and is not
 * yet consumed (at most one window), to be sent again after a lost connection. Not thread-safe: the
 * stream's lock guards it.
 */
final class SendBuffer {
  private final ByteRing ring = new ByteRing();
  private final boolean retains;
  private long consumed;
  private long position;
  private long limit;
  private boolean ended;

  SendBuffer(boolean retains, long offset) {
    this.retains = retains;
    this.consumed = offset;
    this.position = offset;
    this.limit = offset;
  }

  /** Bytes that may be sent now. */
  int allowed() {
    return (int) (limit - position);
  }

  byte[] data(long stream, byte[] bytes, int start, int length) {
    if (retains) {
      ring.put(consumed, position, ByteBuffer.wrap(bytes, start, length));
    }
    byte[] frame = Frames.data(stream, position, bytes, start, length);
    position += length;
    return frame;
  }

  byte[] end(long stream) {
    ended = true;
    return Frames.end(stream, position);
  }

  boolean isEnded() {
    return ended;
  }

  void accept(long newlyConsumed, long newLimit) throws ProtocolViolation {
    if (newlyConsumed < consumed
        || newlyConsumed > position
        || newLimit < limit
        || newLimit < newlyConsumed
        || newLimit - newlyConsumed > Protocol.MAX_WINDOW) {
      throw new ProtocolViolation(
          "Credit %d to %d while %d to %d is consumed and allowed, %d sent"
              .formatted(newlyConsumed, newLimit, consumed, limit, position));
    }
    consumed = newlyConsumed;
    limit = newLimit;
    if (consumed == position) {
      ring.clear();
    }
  }

  /**
   * Goes back to what the guest has really consumed.
   *
   * @return the frames to be sent again
   */
  List<byte[]> replay(long stream, long from) throws ProtocolViolation {
    if (from < consumed || from > position) {
      throw new ProtocolViolation(
          "%d bytes of input consumed, of %d to %d".formatted(from, consumed, position));
    }
    consumed = from;
    List<byte[]> frames = new ArrayList<>();
    byte[] piece = new byte[(int) Math.min(Protocol.MAX_DATA, position - from)];
    for (long offset = from; offset < position; offset += piece.length) {
      int count = (int) Math.min(piece.length, position - offset);
      ring.get(offset, piece, 0, count);
      frames.add(Frames.data(stream, offset, piece, 0, count));
    }
    if (ended) {
      frames.add(Frames.end(stream, position));
    }
    return frames;
  }

  /** The guest's end of the channel is closed: nothing can be sent any more. */
  void shut() {
    ended = true;
    ring.clear();
  }
}
