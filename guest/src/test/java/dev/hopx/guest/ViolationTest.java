package dev.hopx.guest;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Whoever breaks the protocol is cut off, and the guest dials again and works. */
@Timeout(120)
final class ViolationTest {
  private final TestGuest guest = TestGuest.start();

  @AfterEach
  void closeGuest() {
    guest.close();
  }

  @Test
  void frames() {
    cuts(() -> guest.send(0x7F, 0, new byte[0]));
    cuts(() -> guest.send(Frame.HELLO, 0, new byte[32]));
    cuts(() -> guest.send(Frame.WELCOME, 0, new byte[4]));
    cuts(() -> guest.send(Frame.PING, 0, new byte[7]));
    cuts(() -> guest.send(Frame.PING, 0, new byte[9]));
    cuts(() -> guest.send(Frame.PING, 1, new byte[8]));
    cuts(() -> guest.send(Frame.LIST, 0, new byte[1]));
    cuts(() -> guest.send(Frame.LIST, 1, new byte[0]));
    cuts(() -> guest.send(Frame.CLOSE, 0, new byte[0]));
    cuts(() -> guest.send(Frame.CLOSE, 1_000_000, new byte[0]));
    cuts(
        () ->
            guest.sendRaw(
                new Payload().u32(Frame.MAX_PAYLOAD_TO_GUEST + 1).u8(Frame.DATA).u32(1).toBytes()));
    cuts(() -> guest.sendRaw(new Payload().u32(-1).u8(Frame.DATA).u32(1).toBytes()));
  }

  @Test
  void theLargestFrameIsTaken() {
    SpawnRequest request = SpawnRequest.of("true", "x".repeat(100_000), "y".repeat(100_000), "");
    int rest = Frame.MAX_PAYLOAD_TO_GUEST - request.toPayload().length;
    SpawnRequest largest =
        SpawnRequest.of("true", "x".repeat(100_000), "y".repeat(100_000), "z".repeat(rest));
    assertThat(largest.toPayload()).hasSize(Frame.MAX_PAYLOAD_TO_GUEST);
    assertThat(guest.spawn(largest).awaitEnd().value()).isZero();
    assertThat(guest.status("VmRSS")).isLessThan(1024);
  }

  @Test
  void framesArriveByteByByte() {
    byte[] payload = SpawnRequest.of("echo", "slow").toPayload();
    TestStream stream = guest.newStream();
    byte[] frame =
        new Payload().u32(payload.length).u8(Frame.SPAWN).u32(stream.id()).raw(payload).toBytes();
    for (byte part : frame) {
      guest.sendRaw(new byte[] {part});
    }
    stream.grant().awaitEnd();
    assertThat(stream.text(1)).isEqualTo("slow\n");
  }

  @Test
  void spawns() {
    byte[] good = SpawnRequest.of("true").toPayload();
    cuts(() -> newStream(Frame.SPAWN, Arrays.copyOf(good, good.length - 1)));
    cuts(() -> newStream(Frame.SPAWN, Arrays.copyOf(good, good.length + 1)));
    cuts(() -> newStream(Frame.SPAWN, new byte[0]));
    cuts(() -> newStream(Frame.SPAWN, SpawnRequest.of("true").with(32).toPayload()));
    cuts(() -> newStream(Frame.SPAWN, SpawnRequest.of().toPayload()));
    cuts(() -> newStream(Frame.SPAWN, SpawnRequest.of("true").tagged("x".repeat(256)).toPayload()));
    cuts(() -> guest.send(Frame.SPAWN, 0, good));
    TestStream stream = guest.spawn(SpawnRequest.of("true"));
    stream.awaitEnd();
    cuts(() -> guest.send(Frame.SPAWN, stream.id(), good));
  }

  @Test
  void tasks() {
    byte[] head = new Payload().u8(1).u32(0).u32(0).text("").u32(0).text("/").u8(1).toBytes();
    cuts(() -> newStream(Frame.TASK, Arrays.copyOf(head, head.length - 1)));
    cuts(() -> newStream(Frame.TASK, Arrays.copyOf(head, head.length + 1)));
    byte[] unknown = head.clone();
    unknown[0] = 11;
    cuts(() -> newStream(Frame.TASK, unknown));
    unknown[0] = 0;
    cuts(() -> newStream(Frame.TASK, unknown));
    byte[] endlessRoots = new Payload().u8(1).u32(0).u32(0).text("").u32(-1).toBytes();
    cuts(() -> newStream(Frame.TASK, endlessRoots));
  }

  @Test
  void data() {
    cutsRunning(stream -> stream.send(Frame.DATA, new Payload().u8(1).u64(0).u8(1)));
    cutsRunning(stream -> stream.send(Frame.DATA, new Payload().u8(0).u64(1).u8(1)));
    cutsRunning(stream -> stream.send(Frame.DATA, new Payload().u8(0).u64(0)));
    cutsRunning(
        stream -> stream.send(Frame.DATA, new Payload().u8(0).u64(0).raw(new byte[65_537])));
    cutsRunning(stream -> stream.send(Frame.EOF, new Payload().u8(0).u64(1)));
    cutsRunning(stream -> stream.send(Frame.EOF, new Payload().u8(1).u64(0)));
    cutsRunning(stream -> stream.end().end());
    cutsRunning(stream -> stream.end().write("x"));
    // The pipe holds 64 KiB, so this is beyond what was granted in any case.
    cutsRunning(stream -> stream.write(new byte[Frame.MAX_WINDOW + 200_000]));
  }

  @Test
  void credits() {
    cutsRunning(stream -> stream.credit(0, 0, 1));
    cutsRunning(stream -> stream.credit(3, 0, 1));
    cutsRunning(stream -> stream.credit(1, 1, 1 + Frame.MAX_WINDOW));
    cutsRunning(stream -> stream.credit(1, 0, Frame.MAX_WINDOW + 1));
    cutsRunning(stream -> stream.credit(1, 0, Frame.MAX_WINDOW - 1));
    cutsRunning(stream -> stream.credit(1, -1, -1));
    cutsRunning(stream -> stream.send(Frame.CREDIT, new Payload().u8(1).u64(0)));
  }

  @Test
  void requests() {
    cutsRunning(stream -> stream.send(Frame.SIGNAL, new Payload().u32(65).u8(0)));
    cutsRunning(stream -> stream.send(Frame.SIGNAL, new Payload().u32(1).u8(2)));
    cutsRunning(stream -> stream.send(Frame.RESIZE, new Payload().u16(1).u16(1)));
    cutsRunning(TestStream::go);
    cutsRunning(stream -> stream.resume(1, 0));
    cutsRunning(stream -> stream.send(Frame.CLOSE, new Payload().u8(0)));
  }

  @Test
  void framesForAClosedStreamAreIgnored() {
    TestStream stream = guest.spawn(SpawnRequest.of("true").with(SpawnRequest.STDIN));
    stream.awaitEnd();
    stream.close();
    stream.write("late").end().signal(9, true).grant().close();
    assertThat(guest.spawn(SpawnRequest.of("true")).awaitEnd().value()).isZero();
  }

  @Test
  void aHalfFrameAndTheEnd() {
    guest.sendRaw(new Payload().u32(100).u8(Frame.SPAWN).u32(1).u8(0).toBytes());
    guest.disconnect();
    guest.welcome();
    assertThat(guest.spawn(SpawnRequest.of("true")).awaitEnd().value()).isZero();
  }

  private void newStream(int type, byte[] payload) {
    guest.send(type, guest.newStream().id(), payload);
  }

  private void cuts(Runnable violation) {
    try {
      violation.run();
    } catch (UncheckedIOException e) {
      // Cut off before all of it was sent.
    }
    guest.awaitCut();
    guest.welcome();
    assertThat(guest.spawn(SpawnRequest.of("true")).awaitEnd().value()).isZero();
  }

  private void cutsRunning(Consumer<TestStream> violation) {
    cuts(
        () -> {
          TestStream stream = guest.spawn(SpawnRequest.of("sleep", "60").with(SpawnRequest.STDIN));
          stream.await(Frame.STARTED);
          violation.accept(stream);
        });
  }
}
