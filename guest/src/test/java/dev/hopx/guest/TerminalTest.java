package dev.hopx.guest;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class TerminalTest {
  private static final int SIGNAL_KILL = 9;

  private final TestGuest guest = TestGuest.start();

  @AfterEach
  void closeGuest() {
    guest.close();
  }

  @Test
  void isAControllingTerminalOfTheGivenSize() {
    TestStream stream = terminal("tty; stty size; echo ok > /dev/tty");
    assertThat(stream.awaitEnd().value()).isZero();
    assertThat(stream.text(1)).matches("/dev/pts/\\d+\r\n24 80\r\nok\r\n");
  }

  @Test
  void belongsToItsUser() {
    TestStream stream =
        guest
            .spawn(
                SpawnRequest.shell("stat -c %u $(tty); echo by-name > $(tty)")
                    .with(SpawnRequest.PTY)
                    .as(1234, 1234))
            .oneOutput();
    assertThat(stream.awaitEnd().value()).isZero();
    assertThat(stream.text(1)).isEqualTo("1234\r\nby-name\r\n");
  }

  @Test
  void tellsItsProgramOfANewSize() {
    TestStream stream =
        terminal("trap 'stty size; exit 0' WINCH; echo up; while :; do sleep 0.05; done");
    stream.awaitText(1, "up");
    stream.send(Frame.RESIZE, new Payload().u16(132).u16(43));
    assertThat(stream.awaitEnd().value()).isZero();
    assertThat(stream.text(1)).contains("43 132");
  }

  @Test
  void takesInputAndControlCharacters() {
    // A trap and short sleeps: a SIGINT while dash makes a child without one is lost to both.
    TestStream stream =
        terminal(
            "trap 'exit 9' INT; stty -echo; echo up; read line; echo got:$line;"
                + " while :; do sleep 0.05; done");
    stream.awaitText(1, "up");
    stream.write("hello\n");
    stream.awaitText(1, "got:hello");
    stream.write("\u0003");
    TestStream.Exit exit = stream.awaitEnd();
    assertThat(exit.value()).as("by the trap of SIGINT").isEqualTo(9);
  }

  @Test
  void tellsAReaderOfLinesOfTheEnd() {
    TestStream stream = terminal("stty -echo; echo up; cat; echo end");
    stream.awaitText(1, "up");
    stream.write("line\n").end();
    assertThat(stream.awaitEnd().value()).isZero();
    assertThat(stream.text(1)).endsWith("line\r\nend\r\n");
  }

  @Test
  void endsWithItsChildAlthoughAnotherHoldsIt() {
    TestStream stream = terminal("trap '' HUP; sleep 60 & echo last");
    assertThat(stream.awaitEnd().value()).isZero();
    assertThat(stream.text(1)).endsWith("last\r\n");
    stream.signal(SIGNAL_KILL, true);
  }

  @Test
  void losesNothingOfALongOutputAtItsEnd() {
    TestStream stream = terminal("stty -onlcr; seq 1 100000");
    assertThat(stream.awaitEnd().value()).isZero();
    assertThat(stream.text(1)).startsWith("1\n2\n").endsWith("\n100000\n");
    assertThat(stream.received(1)).isEqualTo(588_895);
  }

  @Test
  void mayBeClosedByAProgramThatLivesOn() {
    TestStream stream =
        terminal("name=$(tty); exec </dev/null >/dev/null 2>&1; sleep 0.3; echo back > $name");
    assertThat(stream.awaitEnd().value()).isZero();
    assertThat(stream.text(1)).isEqualTo("back\r\n");
  }

  @Test
  void canBeHeld() {
    TestStream stream =
        guest
            .spawn(SpawnRequest.shell("tty").with(SpawnRequest.PTY | SpawnRequest.HOLD))
            .oneOutput();
    stream.pid();
    stream.go();
    assertThat(stream.awaitEnd().value()).isZero();
    assertThat(stream.text(1)).startsWith("/dev/pts/");
  }

  private TestStream terminal(String script) {
    return guest.spawn(SpawnRequest.shell(script).with(SpawnRequest.PTY)).oneOutput();
  }
}
