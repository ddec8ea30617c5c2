package dev.hopx.guest;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

final class HandshakeTest {
  private static final int HIGHEST_OFFSET = 28;

  @Test
  void helloNamesTheProtocol() {
    try (TestGuest guest = TestGuest.startUnwelcomed(List.of())) {
      Frame frame = guest.accept();
      ByteBuffer hello = frame.buffer();
      assertThat(hello.remaining()).isEqualTo(32);
      assertThat(hello.getInt()).isEqualTo(0x484F5058);
      assertThat(hello.getShort()).isEqualTo((short) 1);
      assertThat(hello.getShort()).isEqualTo((short) 1);
      assertThat(new byte[16]).isNotEqualTo(bootId(frame.payload()));
      assertThat(hello.getInt(24)).as("features").isZero();
      assertThat(hello.getInt(HIGHEST_OFFSET)).as("highest stream").isZero();
    }
  }

  @Test
  void dialsAgainWithTheSameBootIdAndTheHighestStream() {
    try (TestGuest guest = TestGuest.startUnwelcomed(List.of())) {
      byte[] first = guest.welcome().payload();
      guest.spawn(SpawnRequest.of("true")).awaitEnd();
      TestStream last = guest.spawn(SpawnRequest.of("true"));
      last.awaitEnd();
      guest.disconnect();
      byte[] second = guest.welcome().payload();
      assertThat(bootId(second)).isEqualTo(bootId(first));
      assertThat(ByteBuffer.wrap(second).getInt(HIGHEST_OFFSET)).isEqualTo(last.id());
    }
  }

  @Test
  void twoGuestsHaveDifferentBootIds() {
    try (TestGuest one = TestGuest.startUnwelcomed(List.of());
        TestGuest other = TestGuest.startUnwelcomed(List.of())) {
      assertThat(bootId(one.accept().payload())).isNotEqualTo(bootId(other.accept().payload()));
    }
  }

  @Test
  void dialsAgainAfterARefusal() {
    try (TestGuest guest = TestGuest.startUnwelcomed(List.of())) {
      guest.accept();
      guest.send(Frame.REFUSE, 0, new Payload().u16(2).toBytes());
      guest.awaitCut();
      guest.welcome();
      guest.spawn(SpawnRequest.of("true")).awaitEnd();
    }
  }

  @Test
  void refusesAVersionItDoesNotSpeak() {
    try (TestGuest guest = TestGuest.startUnwelcomed(List.of())) {
      guest.accept();
      guest.send(Frame.WELCOME, 0, new Payload().u16(2).u16(0).toBytes());
      guest.awaitCut();
      guest.welcome();
    }
  }

  @Test
  void takesNothingBeforeTheWelcome() {
    try (TestGuest guest = TestGuest.startUnwelcomed(List.of())) {
      guest.accept();
      guest.send(Frame.PING, 0, new byte[8]);
      guest.awaitCut();
      guest.welcome();
    }
  }

  @Test
  void echoesPings() {
    try (TestGuest guest = TestGuest.start()) {
      byte[] content = {1, 2, 3, 4, 5, 6, 7, 8};
      guest.send(Frame.PING, 0, content);
      Frame pong = guest.next();
      assertThat(pong.type()).isEqualTo(Frame.PONG);
      assertThat(pong.payload()).isEqualTo(content);
    }
  }

  @Test
  void burnsNoProcessorTimeWhileNobodyListens() throws Exception {
    try (TestGuest guest = TestGuest.startUnwelcomed(List.of())) {
      guest.welcome();
      long before = cpuTicks(guest.pid());
      guest.disconnect();
      Thread.sleep(1500);
      // A tick is 10 ms; one dial each 200 ms costs far less than one.
      assertThat(cpuTicks(guest.pid()) - before).isLessThanOrEqualTo(2);
    }
  }

  private static byte[] bootId(byte[] hello) {
    return Arrays.copyOfRange(hello, 8, 24);
  }

  private static long cpuTicks(long pid) throws java.io.IOException {
    String[] fields =
        java.nio.file.Files.readString(java.nio.file.Path.of("/proc/" + pid + "/stat"))
            .replaceFirst(".*\\) ", "")
            .split(" ");
    return Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
  }
}
