package dev.hopx.guest;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class FlowTest {
  private static final int SIGNAL_KILL = 9;

  private final TestGuest guest = TestGuest.start();

  @AfterEach
  void closeGuest() {
    guest.close();
  }

  @Test
  void sendsNoByteBeyondItsCredit() throws Exception {
    TestStream stream = spawnWithoutCredit(SpawnRequest.of("yes"));
    stream.await(Frame.STARTED);
    stream.settle(300);
    assertThat(stream.received(1)).isZero();
    stream.credit(1, 0, 1);
    stream.awaitBytes(1, 1);
    stream.credit(1, 1, 1 + Frame.MAX_WINDOW);
    stream.awaitBytes(1, 1 + Frame.MAX_WINDOW);
    stream.settle(300);
    assertThat(stream.received(1)).isEqualTo(1 + Frame.MAX_WINDOW);
    stream.signal(SIGNAL_KILL, false);
    stream.awaitExit();
  }

  @Test
  void aStoppedReaderStopsTheWriterAndCostsNoMemory() throws Exception {
    TestStream stream = spawnWithoutCredit(SpawnRequest.of("yes"));
    stream.credit(1, 0, Frame.MAX_WINDOW);
    stream.awaitBytes(1, Frame.MAX_WINDOW);
    long resident = guest.status("VmRSS");
    String ticks = ticks(stream.pid());
    stream.settle(1000);
    assertThat(guest.status("VmRSS")).isLessThanOrEqualTo(resident + 64);
    assertThat(ticks(stream.pid())).as("a stopped writer runs no more").isEqualTo(ticks);
    stream.signal(SIGNAL_KILL, false);
    stream.awaitExit();
  }

  @Test
  void givesWindowsBackWhenTheyAreEmpty() {
    for (int i = 0; i < 8; i++) {
      TestStream stream = guest.spawn(SpawnRequest.of("head", "-c", "1000000", "/dev/zero"));
      stream.awaitEnd();
      assertThat(stream.received(1)).isEqualTo(1_000_000);
    }
    assertThat(guest.status("VmRSS")).isLessThan(1024);
  }

  @Test
  void aStreamThatStandsStillHoldsUpNoOther() {
    TestStream still = spawnWithoutCredit(SpawnRequest.of("yes"));
    still.await(Frame.STARTED);
    TestStream other = guest.spawn(SpawnRequest.of("head", "-c", "3000000", "/dev/zero"));
    assertThat(other.awaitEnd().value()).isZero();
    assertThat(other.received(1)).isEqualTo(3_000_000);
    still.signal(SIGNAL_KILL, false);
    still.awaitExit();
  }

  @Test
  void tellsTheEndWithoutCredit() {
    TestStream stream = spawnWithoutCredit(SpawnRequest.of("true"));
    assertThat(stream.awaitEnd().value()).isZero();
  }

  @Test
  void keepsUnreadOutputAfterTheExit() throws Exception {
    TestStream stream = spawnWithoutCredit(SpawnRequest.of("echo", "late"));
    stream.awaitExit();
    stream.settle(100);
    assertThat(stream.received(1)).isZero();
    stream.grant();
    stream.awaitEnd();
    assertThat(stream.text(1)).isEqualTo("late\n");
  }

  @Test
  void carriesMuchDataUnharmed() {
    TestStream stream =
        guest.spawn(SpawnRequest.shell("seq 1 2000000 | tee /dev/stderr | md5sum >/dev/null"));
    stream.awaitEnd();
    byte[] expected = new byte[14_888_896];
    int at = 0;
    for (int i = 1; i <= 2_000_000; i++) {
      byte[] line = (i + "\n").getBytes(java.nio.charset.StandardCharsets.US_ASCII);
      System.arraycopy(line, 0, expected, at, line.length);
      at += line.length;
    }
    assertThat(at).isEqualTo(expected.length);
    assertThat(stream.bytes(2)).isEqualTo(expected);
  }

  @Test
  void aHostThatDoesNotReadCostsNoMemory() throws Exception {
    // More questions than the sockets hold: the guest stops reading them.
    guest.pauseReading();
    byte[] ping = new Payload().u32(8).u8(Frame.PING).u32(0).u64(7).toBytes();
    Thread flood =
        Thread.ofVirtual()
            .start(
                () -> {
                  for (int i = 0; i < 200_000; i++) {
                    guest.sendRaw(ping);
                  }
                });
    Thread.sleep(1500);
    assertThat(flood.isAlive()).as("the guest reads no more").isTrue();
    assertThat(guest.status("VmRSS")).isLessThan(1500);
    guest.resumeReading();
    for (int i = 0; i < 200_000; i++) {
      assertThat(guest.next().type()).isEqualTo(Frame.PONG);
    }
    flood.join();
    assertThat(guest.status("VmRSS")).isLessThan(1024);
  }

  private TestStream spawnWithoutCredit(SpawnRequest request) {
    TestStream stream = guest.newStream().withoutCredit();
    guest.send(Frame.SPAWN, stream.id(), request.toPayload());
    return stream;
  }

  private static String ticks(long pid) throws java.io.IOException {
    String[] fields =
        Files.readString(Path.of("/proc/" + pid + "/stat")).replaceFirst(".*\\) ", "").split(" ");
    return fields[11] + " " + fields[12];
  }
}
