package dev.hopx.guest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class ProcessTest {
  private static final int SIGNAL_INTERRUPT = 2;
  private static final int SIGNAL_KILL = 9;
  private static final int SIGNAL_TERMINATE = 15;
  private static final int RESOURCE_OPEN_FILES = 7;
  private static final int STAGE_RESOURCES = 1;
  private static final int STAGE_DIRECTORY = 2;
  private static final int STAGE_EXEC = 4;
  private static final int STAGE_LIMITS = 6;
  private static final int NOBODY = 65534;

  private final TestGuest guest = TestGuest.start();

  @AfterEach
  void closeGuest() {
    guest.close();
  }

  @Test
  void givesOutputsAndStatus() {
    TestStream stream = guest.spawn(SpawnRequest.shell("echo out; echo err >&2; exit 3"));
    assertThat(stream.awaitEnd().value()).isEqualTo(3);
    assertThat(stream.awaitExit().how()).isEqualTo(TestStream.Exit.EXITED);
    assertThat(stream.text(1)).isEqualTo("out\n");
    assertThat(stream.text(2)).isEqualTo("err\n");
    assertThat(stream.count(Frame.STARTED)).isEqualTo(1);
    assertThat(stream.pid()).isPositive();
  }

  @Test
  void countsWhatAProcessUsed() {
    TestStream stream =
        guest.spawn(SpawnRequest.shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"));
    TestStream.Exit exit = stream.awaitEnd();
    assertThat(exit.userMicros()).isBetween(1_000L, 20_000_000L);
    assertThat(exit.peakKibibytes()).isBetween(100L, 100_000L);
  }

  @Test
  void mergesOutputsInTheirOrder() {
    TestStream stream =
        guest
            .spawn(SpawnRequest.shell("echo a; echo b >&2; echo c").with(SpawnRequest.MERGE))
            .oneOutput();
    stream.awaitEnd();
    assertThat(stream.text(1)).isEqualTo("a\nb\nc\n");
    assertThat(guest.listed(stream).channels().get(2).state()).as("channel 2").isZero();
  }

  @Test
  void feedsStandardInputToItsEnd() {
    TestStream stream = guest.spawn(SpawnRequest.of("wc", "-c").with(SpawnRequest.STDIN));
    stream.write(new byte[200_000]).end();
    assertThat(stream.awaitEnd().value()).isZero();
    assertThat(stream.text(1).strip()).isEqualTo("200000");
  }

  @Test
  void grantsInputAsItIsConsumed() {
    TestStream stream = guest.spawn(SpawnRequest.of("cat").with(SpawnRequest.STDIN));
    byte[] content = new byte[3 * Frame.MAX_WINDOW];
    new java.util.Random(1).nextBytes(content);
    long limit = 0;
    int at = 0;
    int credits = 0;
    while (at < content.length) {
      while (at >= limit) {
        limit = stream.await(Frame.CREDIT, ++credits).buffer().getLong(9);
      }
      int length = (int) Math.min(Math.min(Frame.MAX_DATA, limit - at), content.length - at);
      stream.write(java.util.Arrays.copyOfRange(content, at, at + length));
      at += length;
    }
    stream.end();
    stream.awaitEnd();
    assertThat(stream.bytes(1)).isEqualTo(content);
  }

  @Test
  void readsNothingWithoutAnInput() {
    TestStream stream = guest.spawn(SpawnRequest.of("cat"));
    assertThat(stream.awaitEnd().value()).isZero();
    assertThat(stream.text(1)).isEmpty();
  }

  @Test
  void takesInputThatNobodyReads() {
    TestStream stream =
        guest.spawn(SpawnRequest.shell("exec 0<&-; read x; sleep 1").with(SpawnRequest.STDIN));
    stream.await(Frame.STARTED);
    stream.write(new byte[Frame.MAX_WINDOW]);
    assertThat(stream.await(Frame.CREDIT, 2).buffer().getLong(1)).isPositive();
    stream.signal(SIGNAL_KILL, true).awaitEnd();
  }

  @Test
  void signalsAProcess() {
    TestStream stream = guest.spawn(SpawnRequest.of("sleep", "60"));
    stream.await(Frame.STARTED);
    TestStream.Exit exit = stream.signal(SIGNAL_TERMINATE, false).awaitEnd();
    assertThat(exit.how()).isEqualTo(TestStream.Exit.KILLED);
    assertThat(exit.value()).isEqualTo(SIGNAL_TERMINATE);
  }

  @Test
  void signalsAGroupAndNothingElse() {
    TestStream other = guest.spawn(SpawnRequest.of("sleep", "60"));
    TestStream stream = guest.spawn(SpawnRequest.shell("sleep 61 & echo up; wait"));
    stream.awaitText(1, "up");
    stream.signal(SIGNAL_KILL, true).awaitEnd();
    other.await(Frame.STARTED);
    assertThat(other.count(Frame.EXIT)).isZero();
    other.signal(SIGNAL_KILL, true).awaitEnd();
  }

  @Test
  void startsWithDefaultSignalsAndOwnSession() {
    // Fields: ignored and blocked signals; process group and session are the process itself.
    TestStream stream =
        guest.spawn(
            SpawnRequest.shell(
                "grep -E 'SigBlk|SigIgn' /proc/self/status; cut -d' ' -f1,5,6 /proc/$$/stat"));
    stream.awaitEnd();
    assertThat(stream.text(1))
        .contains("SigBlk:\t0000000000000000")
        .contains("SigIgn:\t0000000000000000")
        .contains(stream.pid() + " " + stream.pid() + " " + stream.pid());
  }

  @Test
  void leaksNoDescriptors() {
    TestStream other = guest.spawn(SpawnRequest.of("cat").with(SpawnRequest.STDIN));
    TestStream stream = guest.spawn(SpawnRequest.of("ls", "/proc/self/fd"));
    stream.awaitEnd();
    // ls itself opens number 3 on the directory.
    assertThat(stream.text(1)).isEqualTo("0\n1\n2\n3\n");
    other.end();
    other.awaitEnd();
  }

  @Test
  void aHeldChildKeepsNoOtherPipeOpen() {
    TestStream reader = guest.spawn(SpawnRequest.of("cat").with(SpawnRequest.STDIN));
    TestStream held = guest.spawn(SpawnRequest.of("true").with(SpawnRequest.HOLD));
    held.pid();
    reader.end();
    assertThat(reader.awaitEnd().value()).isZero();
    held.go().awaitEnd();
  }

  @Test
  void holdsAProcessUntilGo() throws Exception {
    TestStream stream = guest.spawn(SpawnRequest.shell("echo run").with(SpawnRequest.HOLD));
    int pid = stream.pid();
    stream.settle(200);
    assertThat(stream.count(Frame.STARTED)).isZero();
    assertThat(Path.of("/proc/" + pid)).exists();
    assertThat(guest.listed(stream).state()).isEqualTo(ListedStream.HELD);
    stream.go();
    assertThat(stream.awaitEnd().value()).isZero();
    assertThat(stream.text(1)).isEqualTo("run\n");
  }

  @Test
  void aHeldProcessEndsWithItsStream() {
    TestStream stream = guest.spawn(SpawnRequest.of("true").with(SpawnRequest.HOLD));
    Path process = Path.of("/proc/" + stream.pid());
    stream.close();
    Eventually.check(() -> assertThat(process).doesNotExist());
  }

  @Test
  void aHeldProcessThatIsKilledHasFailed() {
    TestStream stream = guest.spawn(SpawnRequest.of("true").with(SpawnRequest.HOLD));
    stream.pid();
    stream.signal(SIGNAL_KILL, false);
    stream.await(Frame.FAILED);
    assertThat(stream.count(Frame.STARTED)).isZero();
  }

  @Test
  void closingLeavesAProcessAlone() {
    TestStream stream = guest.spawn(SpawnRequest.of("sleep", "60"));
    Path process = Path.of("/proc/" + stream.pid());
    stream.await(Frame.STARTED);
    stream.close();
    assertThat(guest.list()).noneMatch(entry -> entry.stream() == stream.id());
    assertThat(process).exists();
  }

  @Test
  void exitComesBeforeTheEndOfAnOutputThatIsStillHeld() {
    TestStream stream = guest.spawn(SpawnRequest.shell("sleep 1 & exit 5"));
    assertThat(stream.awaitExit().value()).isEqualTo(5);
    stream.awaitEnd();
  }

  @Test
  void failsWithoutAProgram() {
    assertFailure(SpawnRequest.of("no-such-program"), TaskRecord.NO_ENTRY, STAGE_EXEC);
    assertFailure(SpawnRequest.of("/no/such/program"), TaskRecord.NO_ENTRY, STAGE_EXEC);
    assertFailure(SpawnRequest.of(""), TaskRecord.NO_ENTRY, STAGE_EXEC);
    assertFailure(SpawnRequest.of("/etc/hostname/x"), TaskRecord.NOT_DIRECTORY, STAGE_EXEC);
    assertFailure(SpawnRequest.of("/proc/version"), TaskRecord.ACCESS_DENIED, STAGE_EXEC);
  }

  @Test
  void failsWithoutAnInterpreterOrFormat() throws IOException {
    Path script = executable("script", "#!/no/such/interpreter\n");
    assertFailure(SpawnRequest.of(script.toString()), TaskRecord.NO_ENTRY, STAGE_EXEC);
    int wrongFormat = 8;
    Path garbage = executable("garbage", "\u0001\u0002\u0003");
    assertFailure(SpawnRequest.of(garbage.toString()), wrongFormat, STAGE_EXEC);
  }

  @Test
  void failsWithoutItsDirectory() {
    assertFailure(SpawnRequest.of("true").in("/no/such"), TaskRecord.NO_ENTRY, STAGE_DIRECTORY);
    assertFailure(
        SpawnRequest.of("true").in("/etc/hostname"), TaskRecord.NOT_DIRECTORY, STAGE_DIRECTORY);
    assertFailure(
        SpawnRequest.of("true").in("/root").as(NOBODY, NOBODY),
        TaskRecord.ACCESS_DENIED,
        STAGE_DIRECTORY);
  }

  @Test
  void failsWithAnArgumentThatHoldsANul() {
    assertFailure(SpawnRequest.of("true", "a\0b"), TaskRecord.INVALID, STAGE_EXEC);
  }

  @Test
  void failsWithALimitThatDoesNotExist() {
    SpawnRequest request = SpawnRequest.of("true").limited(new SpawnRequest.Limit(16, 1, 1));
    assertFailure(request, TaskRecord.INVALID, STAGE_LIMITS);
  }

  @Test
  void failsWhenTheArgumentsAreTooLargeForTheKernel() {
    // A single argument may take 128 KiB.
    int tooBig = 7;
    assertFailure(SpawnRequest.of("true", "x".repeat(131_072)), tooBig, STAGE_EXEC);
    guest.spawn(SpawnRequest.of("true", "x".repeat(131_071))).awaitEnd();
  }

  @Test
  void failsWhenNoDescriptorIsLeft() throws Exception {
    assumeTrue(Files.isExecutable(Path.of("/usr/bin/prlimit")), "SKIPPED: no prlimit (util-linux)");
    new ProcessBuilder("prlimit", "--pid", "" + guest.pid(), "--nofile=8:").start().waitFor();
    TestStream stream = guest.spawn(SpawnRequest.of("true").with(SpawnRequest.STDIN));
    Frame failed = stream.await(Frame.FAILED);
    int tooManyFiles = 24;
    assertThat(failed.number(0)).isEqualTo(tooManyFiles);
    assertThat(failed.payload()[4]).isEqualTo((byte) STAGE_RESOURCES);
    new ProcessBuilder("prlimit", "--pid", "" + guest.pid(), "--nofile=1024:").start().waitFor();
    assertThat(guest.spawn(SpawnRequest.of("true")).awaitEnd().value()).isZero();
  }

  @Test
  void looksProgramsUpInTheGivenPath() throws IOException {
    executable("tool", "#!/bin/sh\necho found\n");
    TestStream stream =
        guest.spawn(SpawnRequest.of("tool").environment("PATH=/nowhere:" + guest.directory()));
    stream.awaitEnd();
    assertThat(stream.text(1)).isEqualTo("found\n");
    assertFailure(
        SpawnRequest.of("tool").environment("PATH=/nowhere"), TaskRecord.NO_ENTRY, STAGE_EXEC);
  }

  @Test
  void givesExactlyTheEnvironmentDirectoryAndMask() {
    TestStream stream =
        guest.spawn(
            SpawnRequest.of("/bin/sh", "-c", "pwd; umask; /usr/bin/env")
                .in("/tmp")
                .masked(0077)
                .environment("A=あ", "B="));
    stream.awaitEnd();
    assertThat(stream.text(1).lines())
        .startsWith("/tmp", "0077")
        .containsExactlyInAnyOrder("/tmp", "0077", "A=あ", "B=", "PWD=/tmp");
  }

  @Test
  void takesTheIdentityWithoutOtherGroups() {
    TestStream stream =
        guest.spawn(
            SpawnRequest.of("grep", "-E", "^(Uid|Gid|Groups)", "/proc/self/status").as(1234, 2345));
    stream.awaitEnd();
    assertThat(stream.text(1))
        .contains("Uid:\t1234\t1234\t1234\t1234")
        .contains("Gid:\t2345\t2345\t2345\t2345")
        .containsPattern("Groups:\\s*\n");
  }

  @Test
  void setsLimits() {
    TestStream stream =
        guest.spawn(
            SpawnRequest.shell("ulimit -Sn; ulimit -Hn")
                .limited(new SpawnRequest.Limit(RESOURCE_OPEN_FILES, 100, 200)));
    stream.awaitEnd();
    assertThat(stream.text(1)).isEqualTo("100\n200\n");
  }

  @Test
  void interruptsWhatWaitsInTheShell() {
    TestStream stream =
        guest.spawn(
            SpawnRequest.shell(
                "trap 'echo trapped; exit 9' INT; echo up; while :; do sleep 0.05; done"));
    stream.awaitText(1, "up");
    stream.signal(SIGNAL_INTERRUPT, false);
    assertThat(stream.awaitEnd().value()).isEqualTo(9);
    assertThat(stream.text(1)).contains("trapped");
  }

  @Test
  void tagsAreGivenBack() {
    String tag = "x".repeat(255);
    TestStream stream = guest.spawn(SpawnRequest.of("sleep", "60").tagged(tag));
    stream.await(Frame.STARTED);
    ListedStream listed = guest.listed(stream);
    assertThat(listed.tag()).isEqualTo(tag);
    assertThat(listed.pid()).isEqualTo(stream.pid());
    assertThat(listed.state()).isEqualTo(ListedStream.RUNNING);
  }

  private void assertFailure(SpawnRequest request, int errno, int stage) {
    Frame failed = guest.spawn(request).await(Frame.FAILED);
    assertThat(failed.number(0)).as("errno").isEqualTo(errno);
    assertThat(failed.payload()[4]).as("stage").isEqualTo((byte) stage);
  }

  private Path executable(String name, String content) throws IOException {
    Path file = guest.directory().resolve(name);
    Files.writeString(file, content);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    return file;
  }
}
