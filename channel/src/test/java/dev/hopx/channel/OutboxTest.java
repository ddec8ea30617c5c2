package dev.hopx.channel;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Nobody waits for ever for a guest that does not read, as one that is paused. */
final class OutboxTest {
  private static final int TYPE = 4;

  private final Outbox outbox = new Outbox();

  @Test
  void roomIsWaitedForUntilTheDeadline() throws Exception {
    assertThat(outbox.awaitRoom(0)).isTrue();
    byte[] frame = new byte[Outbox.ROOM];
    frame[TYPE] = (byte) Protocol.DATA;
    assertThat(outbox.offer(frame)).isTrue();
    long begin = System.nanoTime();
    assertThat(outbox.awaitRoom(TimeUnit.MILLISECONDS.toNanos(50))).isFalse();
    assertThat(System.nanoTime() - begin).isGreaterThanOrEqualTo(50_000_000);
    outbox.close();
    assertThat(outbox.awaitRoom(0)).as("the end of the connection is noticed elsewhere").isTrue();
  }
}
