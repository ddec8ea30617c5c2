package dev.hopx.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a lost connection does, to the byte. */
@Timeout(60)
class ReconnectTest {
  private static final Duration SOON = Duration.ofSeconds(5);

  private static final class CountingHook implements SpawnHook {
    private final AtomicInteger kills = new AtomicInteger();
    private final AtomicInteger releases = new AtomicInteger();

    @Override
    public void placed(int guestPid) {
      throw new AssertionError("Nothing is placed here");
    }

    @Override
    public void killTree() {
      kills.incrementAndGet();
    }

    @Override
    public void released() {
      releases.incrementAndGet();
    }
  }

  @Test
  void outputGoesOnWhereItStopped() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT)) {
      GuestProcess process;
      try (FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
        process = fixture.start(guest);
        guest.data(1, 1, 0, new byte[] {1, 2, 3, 4});
        assertThat(process.stdout().readNBytes(2)).containsExactly(1, 2);
      }
      try (FakeGuest guest =
          FakeGuest.connect(fixture.socket(), 1, FakeGuest.running(1, 0, 0, 6, 0))) {
        FakeGuest.Frame resume = guest.expect(Protocol.RESUME);
        assertThat(resume.payload()).containsExactly(1, 0, 0, 0, 0, 0, 0, 0, 4);
        FakeGuest.Frame credit = guest.expect(Protocol.CREDIT);
        assertThat(credit.reader().u8()).isEqualTo(Protocol.OUT);
        guest.expect(Protocol.RESUME);
        guest.expect(Protocol.CREDIT);
        guest.data(1, 1, 4, new byte[] {5, 6});
        guest.end(1, 1, 6);
        guest.exit(1, 1, 3);
        assertThat(process.stdout().readAllBytes()).containsExactly(3, 4, 5, 6);
        assertThat(process.awaitExit().shellCode()).isEqualTo(3);
        process.close();
        guest.expect(Protocol.CLOSE);
      }
    }
  }

  @Test
  void inputIsSentAgainFromWhatWasConsumed() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT)) {
      GuestProcess process;
      try (FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
        process = fixture.start(guest);
        guest.credit(1, 0, 0, 100);
        process.stdin().write(new byte[] {1, 2, 3, 4, 5});
        process.stdin().close();
        guest.expect(Protocol.DATA);
        guest.expect(Protocol.EOF);
      }
      try (FakeGuest guest =
          FakeGuest.connect(fixture.socket(), 1, FakeGuest.running(1, 2, 0, 0, 0))) {
        for (int i = 0; i < 2; i++) {
          guest.expect(Protocol.RESUME);
          guest.expect(Protocol.CREDIT);
        }
        assertThat(guest.expect(Protocol.DATA).payload())
            .containsExactly(0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 4, 5);
        assertThat(guest.expect(Protocol.EOF).payload()).containsExactly(0, 0, 0, 0, 0, 0, 0, 0, 5);
      }
    }
  }

  @Test
  void aHeldProcessIsToldToGoAgain() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT)) {
      CountDownHook hook = new CountDownHook();
      CompletableFuture<GuestProcess> process;
      try (FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
        process = fixture.async(() -> fixture.channel().start(ChannelFixture.spawn(), hook));
        FakeGuest.Frame spawn = guest.expect(Protocol.SPAWN);
        assertThat(spawn.reader().u32() & Protocol.SPAWN_HOLD).isNotZero();
        guest.expect(Protocol.CREDIT);
        guest.expect(Protocol.CREDIT);
        guest.send(new PayloadWriter().u32(FakeGuest.PID), Protocol.SPAWNED, 1);
        guest.expect(Protocol.GO);
      }
      ListedStream running = FakeGuest.running(1, 0, 0, 0, 0);
      ListedStream held =
          new ListedStream(
              1, 1, FakeGuest.PID, Protocol.STATE_HELD, running.flags(), "", running.channels());
      try (FakeGuest guest = FakeGuest.connect(fixture.socket(), 1, held)) {
        for (int i = 0; i < 2; i++) {
          guest.expect(Protocol.RESUME);
          guest.expect(Protocol.CREDIT);
        }
        guest.expect(Protocol.GO);
        guest.send(new PayloadWriter(), Protocol.STARTED, 1);
        assertThat(process.get().pid()).isEqualTo(FakeGuest.PID);
        assertThat(hook.placements.get()).isEqualTo(1);
      }
    }
  }

  private static final class CountDownHook implements SpawnHook {
    private final AtomicInteger placements = new AtomicInteger();
    private final AtomicInteger releases = new AtomicInteger();

    @Override
    public void placed(int guestPid) {
      assertThat(guestPid).isEqualTo(FakeGuest.PID);
      placements.incrementAndGet();
    }

    @Override
    public void killTree() {}

    @Override
    public void released() {
      releases.incrementAndGet();
    }
  }

  @Test
  void aListThatLiesAboutAStreamCostsTheChannel() throws Exception {
    List<ListedStream> lies =
        List.of(
            // Less sent than has arrived.
            FakeGuest.running(1, 0, 0, 3, 0),
            // More consumed than was.
            FakeGuest.running(1, 0, 5, 6, 0),
            // More input consumed than was sent.
            FakeGuest.running(1, 1, 0, 4, 0),
            // Never opened.
            FakeGuest.running(2, 0, 0, 0, 0));
    for (ListedStream lie : lies) {
      try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT)) {
        GuestProcess process;
        try (FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
          process = fixture.start(guest);
          guest.data(1, 1, 0, new byte[] {1, 2, 3, 4});
          assertThat(process.stdout().readNBytes(4)).hasSize(4);
        }
        try (FakeGuest guest = FakeGuest.connect(fixture.socket(), 1, lie)) {
          guest.awaitClosed();
          assertThatThrownBy(process::awaitExit)
              .isInstanceOfSatisfying(
                  GuestException.class,
                  e -> assertThat(e.kind()).isEqualTo(GuestException.Kind.PROTOCOL));
        }
      }
    }
  }

  @Test
  void dataBeforeTheListIsAnsweredCostsTheChannel() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT)) {
      GuestProcess process;
      try (FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
        process = fixture.start(guest);
      }
      try (FakeGuest guest = FakeGuest.dial(fixture.socket())) {
        guest.hello(1, 1, FakeGuest.BOOT, 1);
        guest.expect(Protocol.WELCOME);
        guest.data(1, 1, 0, new byte[1]);
        guest.awaitClosed();
        assertThatThrownBy(process::awaitExit).hasMessageContaining("before it was resumed");
      }
    }
  }

  @Test
  void whatTheGuestHasForgottenIsLost() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT)) {
      GuestProcess process;
      try (FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
        process = fixture.start(guest);
      }
      try (FakeGuest guest = FakeGuest.connect(fixture.socket(), 1)) {
        assertThatThrownBy(process::awaitExit).satisfies(ReconnectTest::isLost);
        process.close();
        assertThat(fixture.channel().liveStreams()).isZero();
        assertThat(guest).isNotNull();
      }
    }
  }

  private static void isLost(Throwable failure) {
    assertThat(failure).isInstanceOf(GuestException.class);
    assertThat(((GuestException) failure).kind()).isEqualTo(GuestException.Kind.LOST);
  }

  @Test
  void aFileOperationFailsWithItsConnection() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT)) {
      CompletableFuture<FileStat> stat;
      try (FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
        stat =
            fixture.async(
                () ->
                    fixture
                        .channel()
                        .files(FileRoots.UNRESTRICTED, GuestUser.ROOT)
                        .stat("/x", false));
        guest.expect(Protocol.TASK);
      }
      Throwable failure = ChannelFixture.failure(stat);
      isLost(failure);
      assertThat(failure).hasMessageContaining("\"/x\"");
    }
  }

  @Test
  void whoDoesNotComeBackInTimeLosesItsStreamsAndIsToldSoLater() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.HASTY)) {
      GuestProcess process;
      try (FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
        process = fixture.start(guest);
      }
      assertThatThrownBy(process::awaitExit).satisfies(ReconnectTest::isLost);
      assertThatThrownBy(() -> fixture.channel().start(ChannelFixture.spawn()))
          .satisfies(ReconnectTest::isLost);
      try (FakeGuest guest =
          FakeGuest.connect(fixture.socket(), 1, FakeGuest.running(1, 0, 0, 0, 0))) {
        assertThat(guest.expect(Protocol.CLOSE).stream()).isEqualTo(1);
        fixture.start(guest).close();
      }
    }
  }

  @Test
  void aRequestWaitsForTheGuestToComeBack() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT)) {
      FakeGuest.connect(fixture.socket(), 0).close();
      CompletableFuture<GuestProcess> process =
          fixture.async(() -> fixture.channel().start(ChannelFixture.spawn()));
      Thread.sleep(50);
      try (FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
        guest.acceptSpawn();
        process.get().close();
      }
    }
  }

  @Test
  void closingLosesEverythingAtOnce() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT);
        FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
      GuestProcess process = fixture.start(guest);
      CompletableFuture<Integer> read = fixture.async(() -> process.stdout().read());
      CompletableFuture<ProcessExit> exit = fixture.async(process::awaitExit);
      CompletableFuture<Void> write =
          fixture.async(
              () -> {
                process.stdin().write(1);
                return null;
              });
      Thread.sleep(50);
      fixture.channel().close();
      assertThat(ChannelFixture.failure(read)).isInstanceOf(IOException.class);
      isLost(ChannelFixture.failure(exit));
      assertThat(ChannelFixture.failure(write)).isInstanceOf(IOException.class);
      guest.awaitClosed();
    }
  }

  @Test
  void aNewHostAdoptsReadsOnAndTakesNewIds() throws Exception {
    ListedStream mine = FakeGuest.running(5, 0, 100, 104, 0);
    ListedStream unwanted = FakeGuest.running(6, 0, 0, 0, 0);
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT);
        FakeGuest guest = FakeGuest.connect(fixture.socket(), 7, mine, unwanted)) {
      fixture.channel().awaitConnected(SOON);
      List<AdoptableProcess> adoptable = fixture.channel().adoptable();
      assertThat(adoptable).extracting(AdoptableProcess::stream).containsExactly(5L, 6L);
      AdoptableProcess first = adoptable.getFirst();
      assertThat(first.tag()).isEqualTo("tag");
      assertThat(first.stdout()).isEqualTo(new AdoptableProcess.Output(100, 104, false));
      CountingHook hook = new CountingHook();

      assertThatThrownBy(() -> fixture.channel().resume(first, 105, 0, hook))
          .isInstanceOf(IllegalArgumentException.class);
      GuestProcess process = fixture.channel().resume(first, 102, 0, hook);
      fixture.channel().release(adoptable.getLast());

      assertThat(guest.expect(Protocol.RESUME).payload())
          .containsExactly(1, 0, 0, 0, 0, 0, 0, 0, 102);
      guest.expect(Protocol.CREDIT);
      guest.expect(Protocol.RESUME);
      guest.expect(Protocol.CREDIT);
      assertThat(guest.expect(Protocol.CLOSE).stream()).isEqualTo(6);
      guest.credit(5, 0, 0, 10);
      process.stdin().write(9);
      assertThat(guest.expect(Protocol.DATA).payload()).endsWith(9);
      guest.data(5, 1, 102, new byte[] {3, 4});
      assertThat(process.stdout().readNBytes(2)).containsExactly(3, 4);
      assertThat(fixture.channel().adoptable()).isEmpty();
      assertThatThrownBy(() -> fixture.channel().resume(first, hook))
          .isInstanceOfSatisfying(
              GuestException.class,
              e -> assertThat(e.kind()).isEqualTo(GuestException.Kind.NOT_FOUND));
      process.killTree();
      process.close();
      process.close();
      assertThat(hook.kills.get()).isEqualTo(1);
      assertThat(hook.releases.get()).isEqualTo(1);
      guest.expect(Protocol.CLOSE);
      CompletableFuture<GuestProcess> next =
          fixture.async(() -> fixture.channel().start(ChannelFixture.spawn()));
      assertThat(guest.acceptSpawn()).isEqualTo(8);
      next.get().close();
    }
  }

  @Test
  void aPlacementThatFailsKillsTheChild() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT);
        FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
      AtomicInteger releases = new AtomicInteger();
      SpawnHook hook =
          new SpawnHook() {
            @Override
            public void placed(int guestPid) {
              throw new IllegalStateException("no control group");
            }

            @Override
            public void killTree() {}

            @Override
            public void released() {
              releases.incrementAndGet();
            }
          };
      CompletableFuture<GuestProcess> process =
          fixture.async(() -> fixture.channel().start(ChannelFixture.spawn(), hook));
      guest.expect(Protocol.SPAWN);
      guest.expect(Protocol.CREDIT);
      guest.expect(Protocol.CREDIT);
      guest.send(new PayloadWriter().u32(FakeGuest.PID), Protocol.SPAWNED, 1);
      assertThat(guest.expect(Protocol.SIGNAL).payload()).startsWith(0, 0, 0, 9);
      guest.expect(Protocol.CLOSE);
      assertThat(ChannelFixture.failure(process)).hasMessage("no control group");
      assertThat(releases.get()).isEqualTo(1);
    }
  }

  @Test
  void aGuestThatDoesNotAnswerAStartIsNotWaitedForForEver() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.HASTY);
        FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
      assertThat(guest).isNotNull();
      assertThatThrownBy(() -> fixture.channel().start(ChannelFixture.spawn()))
          .satisfies(ReconnectTest::isLost)
          .hasMessageContaining("\"program\"");
      assertThat(fixture.channel().liveStreams()).isZero();
    }
  }

  @Test
  void aPausedGuestIsPingedOnce() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT);
        FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
      for (int i = 0; i < 3; i++) {
        assertThatThrownBy(() -> fixture.channel().ping(Duration.ofMillis(20)))
            .satisfies(ReconnectTest::isLost);
      }
      long value = guest.expect(Protocol.PING).reader().i64();
      CompletableFuture<Duration> ping = fixture.async(() -> fixture.channel().ping(SOON));
      Thread.sleep(50);
      guest.raw(Frames.ping(Protocol.PONG, value));
      assertThat(ping.get()).isPositive();
    }
  }

  @Test
  void aWriterWaitsForCreditAndCanBeInterrupted() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT);
        FakeGuest guest = FakeGuest.connect(fixture.socket(), 0)) {
      GuestProcess process = fixture.start(guest);
      CompletableFuture<Throwable> failure = new CompletableFuture<>();
      Thread writer =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      process.stdin().write(new byte[100]);
                    } catch (IOException e) {
                      failure.complete(e);
                    }
                  });
      guest.credit(1, 0, 0, 30);
      assertThat(guest.expect(Protocol.DATA).payload()).hasSize(9 + 30);
      writer.interrupt();
      assertThat(failure.get()).isInstanceOf(java.io.InterruptedIOException.class);
      guest.exit(1, 2, 9);
      assertThat(process.awaitExit().signal()).hasValue(9);
      assertThatThrownBy(() -> process.stdin().write(1)).hasMessageContaining("Broken pipe");
    }
  }

  @Test
  void noMoreStreamsThanTheProtocolAllows() throws Exception {
    ListedStream[] all = new ListedStream[Protocol.MAX_STREAMS];
    Arrays.setAll(all, i -> FakeGuest.running(i + 1L, 0, 0, 0, 0));
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT);
        FakeGuest guest = FakeGuest.dial(fixture.socket())) {
      guest.hello(1, 1, FakeGuest.BOOT, Protocol.MAX_STREAMS);
      guest.expect(Protocol.WELCOME);
      guest.expect(Protocol.LIST);
      for (int i = 0; i < all.length; i += 512) {
        guest.page(Arrays.asList(all).subList(i, i + 512), i + 512 < all.length);
      }
      fixture.channel().awaitConnected(SOON);
      assertThatThrownBy(() -> fixture.channel().start(ChannelFixture.spawn()))
          .isInstanceOfSatisfying(
              GuestException.class,
              e -> assertThat(e.kind()).isEqualTo(GuestException.Kind.EXHAUSTED));
      fixture.channel().release(fixture.channel().adoptable().getFirst());
      guest.expect(Protocol.CLOSE);
      fixture.start(guest).close();
    }
  }
}
