package dev.hopx.guest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
final class FootprintTest {
  private static final long MAX_PROGRAM_BYTES = 200_000;
  private static final long MAX_RESIDENT_KIBIBYTES = 1024;

  /** Its own, with no window of 256 KiB beside it. */
  private static final long IDLE_ANONYMOUS_KIBIBYTES = 400;

  private static final List<String> AS_PROCESS_ONE =
      List.of("unshare", "--pid", "--fork", "--kill-child", "--mount-proc");

  @Test
  void theProgramIsSmallAndStatic() throws IOException {
    try (TestGuest guest = TestGuest.start()) {
      Path program = TestGuest.program(guest.directory());
      assertThat(Files.size(program)).isLessThan(MAX_PROGRAM_BYTES);
      byte[] content = Files.readAllBytes(program);
      assertThat(new String(content, java.nio.charset.StandardCharsets.ISO_8859_1))
          .doesNotContain("ld-musl")
          .doesNotContain("ld-linux");
    }
  }

  @Test
  void isSmallInMemoryAlsoAfterWork() {
    try (TestGuest guest = TestGuest.start()) {
      assertThat(guest.status("VmRSS")).isLessThan(MAX_RESIDENT_KIBIBYTES);
      for (int i = 0; i < 300; i++) {
        TestStream stream = guest.spawn(SpawnRequest.of("echo", "x"));
        stream.awaitEnd();
        stream.close();
      }
      assertThat(guest.list()).isEmpty();
      assertThat(guest.status("VmRSS")).isLessThan(MAX_RESIDENT_KIBIBYTES);
    }
  }

  @Test
  void givesBackTheWindowsOfWhatHasFlowed() {
    try (TestGuest guest = TestGuest.start()) {
      List<TestStream> streams = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        streams.add(guest.spawn(SpawnRequest.of("head", "-c", "4000000", "/dev/zero")));
      }
      streams.forEach(TestStream::awaitEnd);
      Eventually.check(
          () -> assertThat(guest.status("RssAnon")).isLessThan(IDLE_ANONYMOUS_KIBIBYTES));
    }
  }

  @Test
  void holdsNoDescriptorsOfWhatIsOver() {
    try (TestGuest guest = TestGuest.start()) {
      long before = guest.openDescriptors();
      for (int i = 0; i < 50; i++) {
        TestStream stream =
            guest.spawn(
                SpawnRequest.of("true").with(i % 2 == 0 ? SpawnRequest.PTY : SpawnRequest.STDIN));
        (i % 2 == 0 ? stream.oneOutput() : stream).awaitEnd();
        stream.close();
        guest.spawn(SpawnRequest.of("no-such-program")).await(Frame.FAILED);
      }
      assertThat(guest.list()).isEmpty();
      assertThat(guest.openDescriptors()).isEqualTo(before);
    }
  }

  @Test
  void reapsTwoThousandOrphans() {
    assumeCanBeProcessOne();
    try (TestGuest guest = TestGuest.start(AS_PROCESS_ONE)) {
      TestStream stream =
          guest.spawn(
              SpawnRequest.shell("i=0; while [ $i -lt 2000 ]; do (true &) ; i=$((i+1)); done"));
      assertThat(stream.awaitEnd().value()).isZero();
      String count = "grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l";
      Eventually.check(
          () -> {
            TestStream zombies = guest.spawn(SpawnRequest.shell(count));
            zombies.awaitEnd();
            assertThat(zombies.text(1).strip()).isEqualTo("0");
          });
    }
  }

  @Test
  void isProcessOneAndCannotBeReadInside() {
    assumeCanBeProcessOne();
    try (TestGuest guest = TestGuest.start(AS_PROCESS_ONE)) {
      TestStream name = guest.spawn(SpawnRequest.of("cat", "/proc/1/comm"));
      name.awaitEnd();
      assertThat(name.text(1)).isEqualTo("hopx-init\n");
      // As somebody without the rights of root over other processes.
      TestStream user =
          guest.spawn(
              SpawnRequest.shell("cat /proc/1/environ; ls /proc/1/fd; cat /proc/1/maps")
                  .as(1234, 1234));
      assertThat(user.awaitEnd().value()).isNotZero();
      assertThat(user.text(1)).isEmpty();
    }
  }

  @Test
  void ignoresSignalsFromInside() {
    assumeCanBeProcessOne();
    try (TestGuest guest = TestGuest.start(AS_PROCESS_ONE)) {
      String script = "for s in TERM INT HUP QUIT USR1 USR2 PIPE KILL STOP; do kill -$s 1; done";
      guest.spawn(SpawnRequest.shell(script)).awaitEnd();
      assertThat(guest.spawn(SpawnRequest.of("true")).awaitEnd().value()).isZero();
    }
  }

  private static void assumeCanBeProcessOne() {
    boolean can;
    try {
      can =
          new ProcessBuilder("unshare", "--pid", "--fork", "--mount-proc", "true")
                  .redirectErrorStream(true)
                  .start()
                  .waitFor()
              == 0;
    } catch (IOException e) {
      can = false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      can = false;
    }
    assumeTrue(
        can,
        "SKIPPED: 'unshare --pid --mount-proc' does not work here, so hopx-init was not tested as process 1; run as root with unshare (util-linux)");
  }
}
