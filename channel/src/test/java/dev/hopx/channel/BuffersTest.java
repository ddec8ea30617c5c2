package dev.hopx.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BuffersTest {
  @Test
  void aRingKeepsItsBytesThroughGrowthAndWrapping() {
    Random random = new Random(7);
    ByteRing ring = new ByteRing();
    long head = 5_000_000_000L;
    long tail = head;
    for (int i = 0; i < 2_000; i++) {
      int put = random.nextInt(3_000);
      if (tail + put - head <= Protocol.MAX_WINDOW) {
        byte[] bytes = new byte[put];
        for (int j = 0; j < put; j++) {
          bytes[j] = expected(tail + j);
        }
        ring.put(head, tail, ByteBuffer.wrap(bytes));
        tail += put;
      }
      byte[] got = new byte[random.nextInt((int) Math.min(tail - head, 2_800) + 1)];
      ring.get(head, got, 0, got.length);
      for (int j = 0; j < got.length; j++) {
        assertThat(got[j]).isEqualTo(expected(head + j));
      }
      head += got.length;
      assertThat(ring.capacity()).isLessThanOrEqualTo(Protocol.MAX_WINDOW);
    }
  }

  private static byte expected(long offset) {
    return (byte) (offset * 31 + (offset >> 8));
  }

  @Test
  void aFullWindowFitsAndOneByteMoreDoesNot() throws ProtocolViolation {
    ReceiveBuffer buffer = new ReceiveBuffer(Protocol.MAX_WINDOW, 0);
    assertThat(buffer.isCreditDue()).isTrue();
    assertThat(buffer.credit(1, 1)).isEqualTo(Frames.credit(1, 1, 0, Protocol.MAX_WINDOW));
    buffer.accept(0, ByteBuffer.allocate(Protocol.MAX_WINDOW));
    assertThat(buffer.available()).isEqualTo(Protocol.MAX_WINDOW);
    assertThatThrownBy(() -> buffer.accept(Protocol.MAX_WINDOW, ByteBuffer.allocate(1)))
        .isInstanceOf(ProtocolViolation.class);
  }

  @Test
  void creditComesInStepsAndOnlyForWhatTheReaderCameBackFrom() throws ProtocolViolation {
    int window = 4_000;
    ReceiveBuffer buffer = new ReceiveBuffer(window, 0);
    buffer.credit(1, 1);
    buffer.accept(0, ByteBuffer.allocate(window));
    byte[] target = new byte[window];

    assertThat(buffer.read(target, 0, 999)).isEqualTo(999);
    buffer.release();
    assertThat(buffer.isCreditDue()).as("below a quarter").isFalse();

    assertThat(buffer.read(target, 0, 1)).isEqualTo(1);
    assertThat(buffer.isCreditDue()).as("the reader has not come back").isFalse();
    buffer.release();
    assertThat(buffer.isCreditDue()).isTrue();
    assertThat(buffer.credit(1, 1)).isEqualTo(Frames.credit(1, 1, 1_000, 5_000));
  }

  @Test
  void sentInputIsKeptUntilConsumedAndSentAgainFromThere() throws ProtocolViolation {
    SendBuffer buffer = new SendBuffer(true, 0);
    buffer.accept(0, 100);
    byte[] bytes = {1, 2, 3, 4, 5};
    assertThat(buffer.data(9, bytes, 0, 5)).isEqualTo(Frames.data(9, 0, bytes, 0, 5));
    buffer.end(9);

    List<byte[]> replay = buffer.replay(9, 2);

    assertThat(replay).hasSize(2);
    assertThat(replay.get(0)).isEqualTo(Frames.data(9, 2, bytes, 2, 3));
    assertThat(replay.get(1)).isEqualTo(Frames.end(9, 5));
    assertThatThrownBy(() -> buffer.replay(9, 1)).isInstanceOf(ProtocolViolation.class);
    assertThatThrownBy(() -> buffer.replay(9, 6)).isInstanceOf(ProtocolViolation.class);
  }

  @Test
  void aReplayLongerThanOneFrameIsCut() throws ProtocolViolation {
    SendBuffer buffer = new SendBuffer(true, 0);
    buffer.accept(0, Protocol.MAX_WINDOW);
    byte[] bytes = new byte[Protocol.MAX_WINDOW];
    new Random(1).nextBytes(bytes);
    for (int i = 0; i < bytes.length; i += Protocol.MAX_DATA) {
      buffer.data(9, bytes, i, Protocol.MAX_DATA);
    }
    assertThat(buffer.allowed()).isZero();
    List<byte[]> replay = buffer.replay(9, 1);
    assertThat(replay).hasSize(4);
    assertThat(replay.getLast())
        .isEqualTo(
            Frames.data(
                9,
                1 + 3L * Protocol.MAX_DATA,
                bytes,
                1 + 3 * Protocol.MAX_DATA,
                Protocol.MAX_DATA - 1));
  }

  @Test
  void creditFromTheGuestNeverShrinksNorRunsAhead() throws ProtocolViolation {
    SendBuffer buffer = new SendBuffer(false, 0);
    buffer.accept(0, Protocol.MAX_WINDOW);
    buffer.data(1, new byte[10], 0, 10);
    assertThatThrownBy(() -> buffer.accept(11, Protocol.MAX_WINDOW))
        .isInstanceOf(ProtocolViolation.class);
    assertThatThrownBy(() -> buffer.accept(0, Protocol.MAX_WINDOW - 1))
        .isInstanceOf(ProtocolViolation.class);
    assertThatThrownBy(() -> buffer.accept(9, Protocol.MAX_WINDOW + 10L))
        .isInstanceOf(ProtocolViolation.class);
    buffer.accept(10, Protocol.MAX_WINDOW + 10L);
    assertThatThrownBy(() -> buffer.accept(9, Protocol.MAX_WINDOW + 10L))
        .isInstanceOf(ProtocolViolation.class);
    assertThat(buffer.allowed()).isEqualTo(Protocol.MAX_WINDOW);
  }
}
