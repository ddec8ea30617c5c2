package dev.hopx.guest;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class LostConnectionTest {
  private static final int SIGNAL_KILL = 9;

  private final TestGuest guest = TestGuest.start();

  @AfterEach
  void closeGuest() {
    guest.close();
  }

  @Test
  void killsTheGroupsOfWhatIsNotKept() {
    TestStream stream = guest.spawn(SpawnRequest.shell("sleep 60 & echo $!; wait"));
    stream.awaitText(1, "\n");
    Path child = Path.of("/proc/" + stream.text(1).strip());
    assertThat(child).exists();
    guest.disconnect();
    Eventually.check(() -> assertThat(child).doesNotExist());
    guest.welcome();
    Eventually.check(() -> assertThat(guest.listed(stream).state()).isEqualTo(ListedStream.EXITED));
    stream.reconnected().resume(1, stream.received(1)).resume(2, 0).grant();
    TestStream.Exit exit = stream.awaitEnd();
    assertThat(exit.how()).isEqualTo(TestStream.Exit.KILLED);
    assertThat(exit.value()).isEqualTo(SIGNAL_KILL);
  }

  @Test
  void whatWasKilledIsListedToEveryLaterHost() {
    TestStream stream = guest.spawn(SpawnRequest.of("sleep", "60"));
    stream.pid();
    for (int i = 0; i < 3; i++) {
      guest.disconnect();
      guest.welcome();
      Eventually.check(
          () -> assertThat(guest.listed(stream).state()).isEqualTo(ListedStream.EXITED));
    }
    stream.close();
    assertThat(guest.list()).isEmpty();
  }

  @Test
  void backgroundChildrenOfAnEndedCommandLiveOnAndCanWrite() throws Exception {
    final long descriptors = guest.openDescriptors();
    Path go = guest.directory().resolve("go");
    Path written = guest.directory().resolve("written");
    Path stop = guest.directory().resolve("stop");
    TestStream stream =
        guest.spawn(
            SpawnRequest.shell(
                "("
                    + await(go)
                    + "; head -c 1000000 /dev/zero && head -c 1000000 /dev/zero >&2 && : > '"
                    + written
                    + "'; "
                    + await(stop)
                    + "; echo end) & echo $!"));
    assertThat(stream.awaitExit().value()).isZero();
    stream.awaitText(1, "\n");
    Path child = Path.of("/proc/" + stream.text(1).strip());
    guest.disconnect();
    // More than the pipes hold, while there is no host.
    Files.createFile(go);
    Eventually.check(() -> assertThat(written).exists());
    guest.welcome();
    assertThat(guest.list()).isEmpty();
    guest.disconnect();
    guest.welcome();
    assertThat(guest.list()).isEmpty();
    assertThat(child).exists();
    // What the host that lost it may still have under way is ignored.
    stream.reconnected().signal(SIGNAL_KILL, true).close();
    assertThat(guest.list()).isEmpty();
    assertThat(child).exists();
    Files.createFile(stop);
    Eventually.check(() -> assertThat(child).doesNotExist());
    Eventually.check(() -> assertThat(guest.openDescriptors()).isEqualTo(descriptors));
  }

  @Test
  void anEndedCommandThatLeftNothingIsForgotten() {
    final long descriptors = guest.openDescriptors();
    guest.spawn(SpawnRequest.of("echo", "x")).awaitEnd();
    guest
        .spawn(SpawnRequest.of("echo", "x").with(SpawnRequest.PTY))
        .oneOutput()
        .withoutCredit()
        .awaitExit();
    guest.disconnect();
    guest.welcome();
    assertThat(guest.list()).isEmpty();
    Eventually.check(() -> assertThat(guest.openDescriptors()).isEqualTo(descriptors));
  }

  private static String await(Path file) {
    return "until [ -e '" + file + "' ]; do sleep 0.02; done";
  }

  @Test
  void keepsWhatIsToBeKept() {
    TestStream stream =
        guest.spawn(SpawnRequest.of("sleep", "60").with(SpawnRequest.KEEP).tagged("job 1"));
    int pid = stream.pid();
    stream.await(Frame.STARTED);
    guest.disconnect();
    guest.welcome();
    ListedStream listed = guest.listed(stream);
    assertThat(listed.kind()).isEqualTo(1);
    assertThat(listed.pid()).isEqualTo(pid);
    assertThat(listed.state()).isEqualTo(ListedStream.RUNNING);
    assertThat(listed.flags()).isEqualTo(SpawnRequest.KEEP);
    assertThat(listed.tag()).isEqualTo("job 1");
    assertThat(Path.of("/proc/" + pid)).exists();
    stream.reconnected().resume(1, 0).resume(2, 0);
    stream.signal(SIGNAL_KILL, true).awaitExit();
  }

  @Test
  void losesAndDoublesNoByte() throws Exception {
    TestStream stream = guest.spawn(SpawnRequest.of("seq", "1", "500000").with(SpawnRequest.KEEP));
    stream.awaitBytes(1, 100_000);
    for (int i = 0; i < 5; i++) {
      guest.disconnect();
      guest.welcome();
      // What the host has received but not confirmed may be anything the guest still keeps.
      ListedStream.Channel output = guest.listed(stream).channels().get(1);
      long offset = Math.min(stream.received(1), output.consumed() + 777);
      assertThat(offset).isBetween(output.consumed(), output.sent());
      stream.forgetQueued();
      stream.resume(1, offset).resume(2, 0).grantFrom(output.consumed());
      stream.awaitBytes(1, offset + 300_000);
    }
    assertThat(stream.awaitEnd().value()).isZero();
    StringBuilder expected = new StringBuilder();
    for (int i = 1; i <= 500_000; i++) {
      expected.append(i).append('\n');
    }
    assertThat(stream.text(1)).isEqualTo(expected.toString());
  }

  @Test
  void keepsTheOutputAndTheExitOfWhatEndedMeanwhile() throws Exception {
    Path go = guest.directory().resolve("go");
    TestStream stream =
        guest.spawn(
            SpawnRequest.shell(
                    "echo first; until [ -e '" + go + "' ]; do sleep 0.02; done; echo last; exit 7")
                .with(SpawnRequest.KEEP));
    stream.awaitText(1, "first\n");
    Path process = Path.of("/proc/" + stream.pid());
    guest.disconnect();
    Files.createFile(go);
    Eventually.check(() -> assertThat(process).doesNotExist());
    guest.welcome();
    assertThat(guest.listed(stream).state()).isEqualTo(ListedStream.EXITED);
    stream.reconnected();
    stream.settle(200);
    assertThat(stream.count(Frame.EXIT)).as("before RESUME nothing is sent").isZero();
    stream.resume(1, stream.received(1)).resume(2, 0).grant();
    assertThat(stream.awaitEnd().value()).isEqualTo(7);
    assertThat(stream.text(1)).isEqualTo("first\nlast\n");
    stream.close();
    assertThat(guest.list()).isEmpty();
  }

  @Test
  void repeatsExitAndEndsToTheNextHost() {
    TestStream stream = guest.spawn(SpawnRequest.of("echo", "x").with(SpawnRequest.KEEP));
    stream.awaitEnd();
    guest.disconnect();
    guest.welcome();
    guest.list();
    stream.reconnected().resume(1, stream.received(1)).resume(2, 0);
    stream.awaitEnd(1);
    stream.awaitEnd(2);
    stream.await(Frame.EXIT, 2);
  }

  @Test
  void channelZeroGoesOnWhereTheListSays() {
    TestStream stream =
        guest.spawn(
            SpawnRequest.shell("sleep 0.5; exec cat").with(SpawnRequest.KEEP | SpawnRequest.STDIN));
    byte[] content = new byte[200_000];
    new java.util.Random(3).nextBytes(content);
    stream.write(content);
    // More than a pipe holds, so that the guest has some of it in hand.
    Eventually.check(
        () -> assertThat(guest.listed(stream).channels().get(0).sent()).isEqualTo(200_000));
    guest.disconnect();
    guest.welcome();
    ListedStream.Channel input = guest.listed(stream).channels().get(0);
    assertThat(input.consumed()).isBetween(1L, 199_999L);
    stream.reconnected().resume(1, 0).resume(2, 0).grant();
    assertThat(stream.await(Frame.CREDIT, 2).buffer().getLong(1))
        .isBetween(input.consumed(), 200_000L);
    stream.rewriteFrom(content, input.consumed()).end();
    assertThat(stream.awaitEnd().value()).isZero();
    assertThat(stream.bytes(1)).isEqualTo(content);
  }

  @Test
  void aHeldProcessDiesOrWaitsOn() {
    TestStream dropped = guest.spawn(SpawnRequest.of("true").with(SpawnRequest.HOLD));
    TestStream kept =
        guest.spawn(SpawnRequest.of("echo", "ran").with(SpawnRequest.HOLD | SpawnRequest.KEEP));
    Path process = Path.of("/proc/" + dropped.pid());
    kept.pid();
    guest.disconnect();
    Eventually.check(() -> assertThat(process).doesNotExist());
    guest.welcome();
    assertThat(guest.listed(dropped).state()).isEqualTo(ListedStream.EXITED);
    assertThat(guest.listed(kept).state()).isEqualTo(ListedStream.HELD);
    kept.reconnected().resume(1, 0).resume(2, 0).grant();
    kept.go();
    assertThat(kept.awaitEnd().value()).isZero();
    assertThat(kept.text(1)).isEqualTo("ran\n");
  }

  @Test
  void aKeptTerminalGoesOn() {
    TestStream stream =
        guest
            .spawn(
                SpawnRequest.shell("stty -echo; echo up; read x; echo got $x")
                    .with(SpawnRequest.KEEP | SpawnRequest.PTY))
            .oneOutput();
    stream.awaitText(1, "up");
    guest.disconnect();
    guest.welcome();
    guest.list();
    stream
        .reconnected()
        .resume(1, stream.received(1))
        .credit(1, stream.received(1), stream.received(1) + Frame.MAX_WINDOW);
    stream.write("it\n");
    assertThat(stream.awaitEnd().value()).isZero();
    assertThat(stream.text(1)).isEqualTo("up\r\ngot it\r\n");
  }

  @Test
  void workersDoNotSurvive() {
    TestStream watch =
        guest.task(9, new Payload().u32(0).text(guest.directory().toString()).u8(1).toBytes());
    assertThat(watch.record().code()).isZero();
    guest.disconnect();
    ProcessHandle process = ProcessHandle.of(guest.pid()).orElseThrow();
    Eventually.check(() -> assertThat(process.children()).isEmpty());
    guest.welcome();
    assertThat(guest.list()).isEmpty();
  }

  @Test
  void listsThousandsInSeveralFrames() {
    // A list of 300 streams with the longest tags takes more than one frame.
    for (int i = 0; i < 300; i++) {
      guest.spawn(SpawnRequest.of("true").tagged("t".repeat(255)).with(SpawnRequest.KEEP));
    }
    assertThat(guest.list()).hasSize(300);
    assertThat(guest.list().stream().map(ListedStream::stream)).doesNotHaveDuplicates();
  }
}
