package dev.hopx.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever a guest sends costs its own channel at most. */
@Timeout(60)
class HostileGuestTest {
  private static final Duration SOON = Duration.ofSeconds(5);

  @FunctionalInterface
  interface Attack {
    void on(FakeGuest guest, long stream) throws IOException;
  }

  static Stream<Arguments> attacks() {
    return Stream.of(
        attack("an unknown type", (g, s) -> g.send(new PayloadWriter(), 0x77, s)),
        attack("a type of the host", (g, s) -> g.send(new PayloadWriter(), Protocol.SPAWN, s)),
        attack("a second HELLO", (g, s) -> g.hello(1, 1, FakeGuest.BOOT, 0)),
        attack("a frame just too long", (g, s) -> g.raw(header(Protocol.MAX_PAYLOAD_TO_HOST + 1))),
        attack("a frame of four gigabytes", (g, s) -> g.raw(header(-1))),
        attack("a stream never opened", (g, s) -> g.data(s + 1, 1, 0, new byte[1])),
        attack("data of stream 0", (g, s) -> g.data(0, 1, 0, new byte[1])),
        attack("a list for a stream", (g, s) -> g.send(page(), Protocol.STREAMS, s)),
        attack("a list not asked for", (g, s) -> g.streams(List.of())),
        attack("data of channel 0", (g, s) -> g.data(s, 0, 0, new byte[1])),
        attack("data of channel 3", (g, s) -> g.data(s, 3, 0, new byte[1])),
        attack("no data in DATA", (g, s) -> g.data(s, 1, 0, new byte[0])),
        attack("too much in one DATA", (g, s) -> g.data(s, 1, 0, new byte[Protocol.MAX_DATA + 1])),
        attack("a wrong offset", (g, s) -> g.data(s, 1, 1, new byte[1])),
        attack("a negative offset", (g, s) -> g.data(s, 1, -1, new byte[1])),
        attack("data beyond the credit", HostileGuestTest::flood),
        attack(
            "data behind the end",
            (g, s) -> {
              g.end(s, 1, 0);
              g.data(s, 1, 0, new byte[1]);
            }),
        attack(
            "two ends",
            (g, s) -> {
              g.end(s, 1, 0);
              g.end(s, 1, 0);
            }),
        attack("an end elsewhere", (g, s) -> g.end(s, 1, 1)),
        attack("credit for an output", (g, s) -> g.credit(s, 1, 0, 10)),
        attack("credit for what was not sent", (g, s) -> g.credit(s, 0, 1, 10)),
        attack("credit of too much", (g, s) -> g.credit(s, 0, 0, Protocol.MAX_WINDOW + 1)),
        attack(
            "credit that shrinks",
            (g, s) -> {
              g.credit(s, 0, 0, 10);
              g.credit(s, 0, 0, 9);
            }),
        attack("a second pid", (g, s) -> g.send(new PayloadWriter().u32(1), Protocol.SPAWNED, s)),
        attack("a second start", (g, s) -> g.send(new PayloadWriter(), Protocol.STARTED, s)),
        attack(
            "a failure after the start",
            (g, s) -> g.send(new PayloadWriter().u32(2).u8(4), Protocol.FAILED, s)),
        attack(
            "two exits",
            (g, s) -> {
              g.exit(s, 1, 0);
              g.exit(s, 1, 0);
            }),
        attack("an exit of another kind", (g, s) -> g.exit(s, 3, 0)),
        attack("an exit by signal 65", (g, s) -> g.exit(s, 2, 65)),
        attack("an exit with status 256", (g, s) -> g.exit(s, 1, 256)),
        attack("a short exit", (g, s) -> g.send(new PayloadWriter().u8(1), Protocol.EXIT, s)),
        attack(
            "a long exit", (g, s) -> g.send(FakeGuest.exitPayload(1, 0).u8(0), Protocol.EXIT, s)),
        attack("an answer without a question", (g, s) -> g.raw(Frames.ping(Protocol.PONG, 1))),
        attack("a short ping", (g, s) -> g.send(new PayloadWriter().u32(1), Protocol.PING, 0)),
        attack(
            "noise",
            (g, s) -> {
              byte[] noise = new byte[300_000];
              Arrays.fill(noise, (byte) 0xEE);
              g.raw(noise);
            }));
  }

  private static Arguments attack(String name, Attack attack) {
    return arguments(name, attack);
  }

  private static PayloadWriter page() {
    return new PayloadWriter().u8(0).u32(0);
  }

  private static byte[] header(int length) {
    byte[] header = new byte[Protocol.HEADER];
    Frames.putHeader(ByteBuffer.wrap(header), length, Protocol.DATA, 1);
    return header;
  }

  /** On the output that nobody reads. */
  private static void flood(FakeGuest guest, long stream) throws IOException {
    byte[] piece = new byte[Protocol.MAX_DATA];
    for (int i = 0; i < 4; i++) {
      guest.data(stream, Protocol.ERR, (long) i * piece.length, piece);
    }
    guest.data(stream, Protocol.ERR, Protocol.MAX_WINDOW, new byte[1]);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("attacks")
  void isCutOffAndFailsAllItsStreams(String name, Attack attack) throws Exception {
    try (ChannelFixture neighbour = new ChannelFixture(ChannelFixture.PATIENT);
        FakeGuest good = FakeGuest.connect(neighbour.socket(), 0);
        ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT);
        FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
      GuestProcess process = fixture.start(guest);
      CompletableFuture<GuestException> ended = new CompletableFuture<>();
      fixture.channel().whenEnded(ended::complete);
      CompletableFuture<ProcessExit> exit =
          fixture.async(
              () -> {
                process.stdout().readAllBytes();
                return process.awaitExit();
              });
      try {
        attack.on(guest, 1);
      } catch (IOException e) {
        // Cut off in the middle of it.
      }
      guest.awaitClosed();

      assertThat(ended.get().kind()).as(name).isEqualTo(GuestException.Kind.PROTOCOL);
      assertThat(exit.handle((value, failure) -> true).get()).isTrue();
      assertThatThrownBy(() -> fixture.channel().start(ChannelFixture.spawn()))
          .isInstanceOfSatisfying(
              GuestException.class,
              e -> assertThat(e.kind()).isEqualTo(GuestException.Kind.PROTOCOL));

      CompletableFuture<Duration> alive = neighbour.async(() -> neighbour.channel().ping(SOON));
      good.raw(Frames.ping(Protocol.PONG, good.expect(Protocol.PING).reader().i64()));
      assertThat(alive.get()).isPositive();
    }
  }

  @Test
  void aViolationReachesWhoReads() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT);
        FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
      GuestProcess process = fixture.start(guest);
      guest.data(1, 1, 0, new byte[] {1, 2, 3});
      guest.data(1, 1, 0, new byte[] {4});
      guest.awaitClosed();
      assertThat(process.stdout().readNBytes(3)).containsExactly(1, 2, 3);
      assertThatThrownBy(() -> process.stdout().read())
          .isInstanceOf(IOException.class)
          .cause()
          .isInstanceOfSatisfying(
              GuestException.class,
              e -> assertThat(e.kind()).isEqualTo(GuestException.Kind.PROTOCOL));
      assertThatThrownBy(process::awaitExit).isInstanceOf(GuestException.class);
      assertThatThrownBy(() -> process.stdin().write(1)).isInstanceOf(IOException.class);
    }
  }

  @Test
  void framesOfAStreamThatWasClosedAreIgnored() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT);
        FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
      fixture.start(guest).close();
      guest.data(1, 1, 0, new byte[10]);
      guest.exit(1, 1, 0);
      guest.expect(Protocol.CLOSE);
      answersPing(fixture, guest);
    }
  }

  private static void answersPing(ChannelFixture fixture, FakeGuest guest) throws Exception {
    CompletableFuture<Duration> ping = fixture.async(() -> fixture.channel().ping(SOON));
    guest.raw(Frames.ping(Protocol.PONG, guest.expect(Protocol.PING).reader().i64()));
    assertThat(ping.get()).isPositive();
  }

  @Test
  void aGuestThatAsksAndNeverReadsIsCutOff() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT);
        FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
      byte[] ping = Frames.ping(Protocol.PING, 1);
      byte[] many = new byte[ping.length * 4_096];
      for (int i = 0; i < many.length; i += ping.length) {
        System.arraycopy(ping, 0, many, i, ping.length);
      }
      assertThatThrownBy(
              () -> {
                for (int i = 0; i < 1_000; i++) {
                  guest.raw(many);
                }
              })
          .isInstanceOf(IOException.class);
      fixture.async(() -> null).get();
      assertThat(failureOf(fixture)).hasMessageContaining("does not read");
    }
  }

  private static GuestException failureOf(ChannelFixture fixture) throws Exception {
    CompletableFuture<GuestException> ended = new CompletableFuture<>();
    fixture.channel().whenEnded(ended::complete);
    return ended.get();
  }

  @Test
  void aSlowHandshakeIsDroppedAndTheNextOneServed() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.HASTY)) {
      try (FakeGuest slow = FakeGuest.dial(fixture.socket())) {
        slow.raw(new byte[] {0, 0, 0});
        slow.awaitClosed();
      }
      try (FakeGuest silent = FakeGuest.dial(fixture.socket())) {
        silent.hello(1, 1, FakeGuest.BOOT, 0);
        silent.expect(Protocol.WELCOME);
        silent.expect(Protocol.LIST);
        silent.awaitClosed();
      }
      try (FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
        fixture.channel().awaitConnected(SOON);
        answersPing(fixture, guest);
      }
    }
  }

  @Test
  void garbageInsteadOfHelloBreaksTheChannel() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT);
        FakeGuest guest = FakeGuest.dial(fixture.socket())) {
      byte[] noise = new byte[1_000];
      ThreadLocalRandom.current().nextBytes(noise);
      noise[0] = 1;
      guest.raw(noise);
      guest.awaitClosed();
      assertThat(failureOf(fixture).kind()).isEqualTo(GuestException.Kind.PROTOCOL);
    }
  }

  @Test
  void anotherVersionIsRefusedWithAReason() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT);
        FakeGuest guest = FakeGuest.dial(fixture.socket())) {
      guest.hello(2, 3, FakeGuest.BOOT, 0);
      assertThat(guest.expect(Protocol.REFUSE).reader().u16()).isEqualTo(Protocol.REFUSE_VERSION);
      guest.awaitClosed();
      assertThatThrownBy(() -> fixture.channel().awaitConnected(SOON))
          .isInstanceOf(GuestException.class)
          .hasMessageContaining("versions 2 to 3");
    }
  }

  @Test
  void aGuestThatSpeaksNewerVersionsAsWellIsServed() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT);
        FakeGuest guest = FakeGuest.dial(fixture.socket())) {
      guest.hello(0, 9, FakeGuest.BOOT, 0);
      assertThat(guest.expect(Protocol.WELCOME).reader().u16()).isEqualTo(Protocol.VERSION);
    }
  }

  @Test
  void anotherBootIdIsRefusedAndTheFirstGoesOn() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT);
        FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
      fixture.channel().awaitConnected(SOON);
      try (FakeGuest other = FakeGuest.dial(fixture.socket())) {
        other.hello(1, 1, new byte[Protocol.BOOT_ID], 0);
        assertThat(other.expect(Protocol.REFUSE).reader().u16())
            .isEqualTo(Protocol.REFUSE_UNEXPECTED);
        other.awaitClosed();
      }
      answersPing(fixture, guest);
    }
  }

  @Test
  void anotherProcessIsRefusedBeforeItSaysAnything() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT, pid -> pid == 1)) {
      try (FakeGuest guest = FakeGuest.dial(fixture.socket())) {
        guest.awaitClosed();
      }
      assertThat(fixture.channel().isConnected()).isFalse();
    }
  }

  @Test
  void aRecordWithAnEndlessPathCostsTheChannel() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT);
        FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
      CompletableFuture<FileStat> stat =
          fixture.async(
              () ->
                  fixture
                      .channel()
                      .files(FileRoots.UNRESTRICTED, GuestUser.ROOT)
                      .stat("/x", false));
      guest.expect(Protocol.TASK);
      guest.expect(Protocol.CREDIT);
      byte[] record = {0, 0, 0, 0, (byte) 0xFF, (byte) 0xFF, (byte) 0xFF, (byte) 0xFF};
      guest.data(1, 2, 0, record);
      assertThat(ChannelFixture.failure(stat))
          .isInstanceOfSatisfying(
              GuestException.class,
              e -> assertThat(e.kind()).isEqualTo(GuestException.Kind.PROTOCOL));
      guest.awaitClosed();
    }
  }

  @Test
  void aListedNameThatLeavesItsDirectoryCostsTheChannel() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT);
        FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
      CompletableFuture<FileStat> list =
          fixture.async(
              () ->
                  fixture
                      .channel()
                      .files(FileRoots.UNRESTRICTED, GuestUser.ROOT)
                      .list("/x", entry -> {}));
      guest.expect(Protocol.TASK);
      guest.expect(Protocol.CREDIT);
      guest.expect(Protocol.CREDIT);
      guest.data(1, 2, 0, content(stat(new PayloadWriter().u32(0).string("path", "/x").u8(1), 2)));
      guest.data(1, 1, 0, content(stat(new PayloadWriter().string("name", "../etc"), 1)));
      assertThat(ChannelFixture.failure(list)).hasMessageContaining("../etc");
      guest.awaitClosed();
    }
  }

  private static PayloadWriter stat(PayloadWriter writer, int kind) {
    return writer
        .u8(kind)
        .u32(0755)
        .u32(0)
        .u32(0)
        .u64(1)
        .u64(Long.MAX_VALUE)
        .u32(0)
        .u64(1)
        .string("target", "");
  }

  private static byte[] content(PayloadWriter writer) {
    byte[] frame = writer.frame(Protocol.DATA, 0);
    return Arrays.copyOfRange(frame, Protocol.HEADER, frame.length);
  }

  @Test
  void aWorkerThatDiesInTheMiddleIsNoShortFile() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT);
        FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
      CompletableFuture<byte[]> read =
          fixture.async(
              () -> {
                try (var content =
                    fixture
                        .channel()
                        .files(FileRoots.UNRESTRICTED, GuestUser.ROOT)
                        .read("/x", 0, java.util.OptionalLong.empty())) {
                  return content.content().readAllBytes();
                }
              });
      guest.expect(Protocol.TASK);
      guest.expect(Protocol.CREDIT);
      guest.expect(Protocol.CREDIT);
      byte[] record = content(stat(new PayloadWriter().u32(0).string("path", "/x").u8(1), 1));
      guest.data(1, 2, 0, record);
      guest.end(1, 2, record.length);
      guest.data(1, 1, 0, new byte[5]);
      guest.end(1, 1, 5);
      guest.exit(1, Protocol.KILLED, 9);
      assertThat(ChannelFixture.failure(read))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("\"/x\"");
    }
  }
}
