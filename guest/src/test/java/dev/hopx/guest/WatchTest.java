package dev.hopx.guest;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class WatchTest {
  private static final int WATCH = 9;
  private static final int WRITE = 4;
  private static final int CREATED = 1;
  private static final int MODIFIED = 2;
  private static final int DELETED = 3;
  private static final int RENAMED = 4;
  private static final int OVERFLOW = 5;

  private final TestGuest guest = TestGuest.start();
  private final Path root = guest.directory().resolve("root");

  @BeforeEach
  void makeRoot() throws IOException {
    Files.createDirectory(root);
  }

  @AfterEach
  void closeGuest() {
    guest.close();
  }

  @Test
  void tellsOfTheLifeOfAFile() throws IOException {
    TestStream watch = watch(true);
    Path file = Files.writeString(root.resolve("file"), "x");
    Files.writeString(file, "y", StandardOpenOption.APPEND);
    Path moved = Files.move(file, root.resolve("moved"));
    Files.delete(moved);
    List<Event> events = awaitEvent(watch, new Event(DELETED, false, moved.toString(), ""));
    assertThat(events.getFirst()).isEqualTo(new Event(CREATED, false, file.toString(), ""));
    assertThat(events)
        .contains(
            new Event(MODIFIED, false, file.toString(), ""),
            new Event(RENAMED, false, moved.toString(), file.toString()));
  }

  @Test
  void watchesNewDirectoriesAndTellsWhatTheyHold() throws IOException {
    TestStream watch = watch(true);
    Path deep = Files.createDirectories(root.resolve("a/b/c"));
    Path early = Files.createFile(deep.resolve("early"));
    List<Event> events = awaitEvent(watch, new Event(CREATED, false, early.toString(), ""));
    assertThat(events)
        .contains(
            new Event(CREATED, true, root.resolve("a").toString(), ""),
            new Event(CREATED, true, root.resolve("a/b").toString(), ""),
            new Event(CREATED, true, deep.toString(), ""));
    Path late = Files.createFile(deep.resolve("late"));
    events = awaitEvent(watch, new Event(CREATED, false, late.toString(), ""));
    assertThat(events.stream().filter(e -> e.kind() == CREATED)).doesNotHaveDuplicates();
  }

  @Test
  void isNotLedOutsideByALinkThatTakesTheNameOfADirectory() throws Exception {
    Path outside = guest.directory().resolve("outside");
    Files.createDirectories(outside.resolve("b"));
    Files.createFile(outside.resolve("b/secret"));
    Path staged = guest.directory().resolve("staged");
    Files.createDirectories(staged.resolve("a/b"));
    // More than the window, the pipe and the worker's buffer hold: it waits inside "a".
    for (int i = 0; i < 3_000; i++) {
      Files.createFile(staged.resolve("a/" + "n".repeat(200) + i));
    }
    TestStream watch = watch(true).withoutCredit();
    Path tree = Files.move(staged, root.resolve("tree"));
    watch.awaitBytes(1, Frame.MAX_WINDOW);
    watch.settle(200);
    Files.move(tree.resolve("a"), guest.directory().resolve("moved"));
    Files.createSymbolicLink(tree.resolve("a"), outside);
    Path last = Files.createFile(root.resolve("last"));
    watch.withCredit();
    List<Event> events = awaitEvent(watch, new Event(CREATED, false, last.toString(), ""));
    assertThat(events).extracting(Event::path).noneMatch(path -> path.endsWith("secret"));
    Files.createFile(outside.resolve("b/later"));
    Path end = Files.createFile(root.resolve("end"));
    events = awaitEvent(watch, new Event(CREATED, false, end.toString(), ""));
    assertThat(events).extracting(Event::path).noneMatch(path -> path.endsWith("later"));
  }

  @Test
  void aPathThatNoRecordMayHoldIsToldAsAnOverflow() throws IOException {
    String levels = ("/" + "d".repeat(200)).repeat(18);
    for (String name : List.of("x", "y", "z")) {
      Files.createDirectories(Path.of(root + "/" + name + levels));
    }
    TestStream watch = watch(true);
    Path go = guest.directory().resolve("go");
    guest
        .spawn(
            SpawnRequest.shell(
                "cd '%s' && echo in && until [ -e '%s' ]; do sleep 0.02; done; : > file"
                    .formatted(root + "/x" + levels, go)))
        .awaitText(1, "in");
    Files.move(root.resolve("x"), Path.of(root + "/y" + levels + "/x"));
    Files.move(root.resolve("y"), Path.of(root + "/z" + levels + "/y"));
    Files.createFile(go);
    List<Event> events = awaitEvent(watch, new Event(OVERFLOW, true, root.toString(), ""));
    assertThat(events).extracting(e -> e.path().length()).allMatch(length -> length <= 8_191);
    Path last = Files.createFile(root.resolve("last"));
    events = awaitEvent(watch, new Event(CREATED, false, last.toString(), ""));
    assertThat(events).extracting(e -> e.path().length()).allMatch(length -> length <= 8_191);
  }

  @Test
  void tellsOfEachNewFileOnceHoweverFastItComes() throws IOException {
    TestStream watch = watch(true);
    for (int i = 0; i < 100; i++) {
      Path directory = Files.createDirectory(root.resolve("d" + i));
      for (int j = 0; j < 5; j++) {
        Files.createFile(directory.resolve("f" + j));
      }
    }
    Path last = Files.createFile(root.resolve("last"));
    List<Event> events = awaitEvent(watch, new Event(CREATED, false, last.toString(), ""));
    List<Event> created = events.stream().filter(e -> e.kind() == CREATED).toList();
    assertThat(created).doesNotHaveDuplicates().hasSize(601);
  }

  @Test
  void knowsTheNewPathsBelowARenamedDirectory() throws IOException {
    Path from = root.resolve("from");
    Files.createDirectories(from.resolve("deep"));
    TestStream watch = watch(true);
    Path to = Files.move(from, root.resolve("to"));
    awaitEvent(watch, new Event(RENAMED, true, to.toString(), from.toString()));
    Path file = Files.createFile(to.resolve("deep/file"));
    awaitEvent(watch, new Event(CREATED, false, file.toString(), ""));
  }

  @Test
  void movingAcrossTheBorderIsACreationOrADeletion() throws IOException {
    Path directory = root.resolve("inner");
    Files.createDirectories(directory.resolve("deep"));
    TestStream watch = watch(true);
    Path away = Files.move(directory, guest.directory().resolve("away"));
    awaitEvent(watch, new Event(DELETED, true, directory.toString(), ""));
    Files.createFile(away.resolve("deep/unseen"));
    Path back = Files.move(away, root.resolve("back"));
    List<Event> events =
        awaitEvent(watch, new Event(CREATED, false, back.resolve("deep/unseen").toString(), ""));
    assertThat(events)
        .contains(new Event(CREATED, true, back.toString(), ""))
        .noneMatch(event -> event.path().startsWith(away.toString()));
  }

  @Test
  void showsAnAtomicWriteByItsFinalNameOnly() throws IOException {
    TestStream watch = watch(true);
    Path file = root.resolve("file");
    write(file);
    awaitEvent(watch, new Event(CREATED, false, file.toString(), ""));
    write(file);
    Path last = Files.createFile(root.resolve("last"));
    List<Event> events = awaitEvent(watch, new Event(CREATED, false, last.toString(), ""));
    assertThat(events)
        .containsExactly(
            new Event(CREATED, false, file.toString(), ""),
            new Event(MODIFIED, false, file.toString(), ""),
            new Event(CREATED, false, last.toString(), ""));
  }

  @Test
  void staysAtOneLevelWhenAsked() throws IOException {
    Path directory = Files.createDirectory(root.resolve("directory"));
    TestStream watch = watch(false);
    Files.createFile(directory.resolve("deep"));
    Path file = Files.createFile(root.resolve("file"));
    List<Event> events = awaitEvent(watch, new Event(CREATED, false, file.toString(), ""));
    assertThat(events).containsExactly(new Event(CREATED, false, file.toString(), ""));
  }

  @Test
  void endsWithItsDirectory() throws IOException {
    TestStream watch = watch(true);
    Files.delete(root);
    assertThat(watch.awaitEnd().value()).isZero();
    assertThat(events(watch)).containsExactly(new Event(DELETED, true, root.toString(), ""));
  }

  @Test
  void endsWithADirectoryThatWasGivenByADot() throws IOException {
    TestStream watch = start(root.resolve("."), true);
    assertThat(watch.record().code()).isZero();
    Files.delete(root);
    assertThat(watch.awaitEnd().value()).isZero();
    assertThat(events(watch)).containsExactly(new Event(DELETED, true, root.toString(), ""));
  }

  @Test
  void watchesOnlyDirectoriesThatExist() throws IOException {
    Path file = Files.createFile(root.resolve("file"));
    assertThat(start(file, true).record().code()).isEqualTo(TaskRecord.NOT_DIRECTORY);
    assertThat(start(root.resolve("none"), true).record().code()).isEqualTo(TaskRecord.NO_ENTRY);
  }

  @Test
  void endsWithItsStream() {
    TestStream watch = watch(true);
    ProcessHandle process = ProcessHandle.of(guest.pid()).orElseThrow();
    assertThat(process.children()).hasSize(1);
    watch.close();
    Eventually.check(() -> assertThat(process.children()).isEmpty());
  }

  private TestStream start(Path path, boolean recursive) {
    return guest.task(
        WATCH, new Payload().u32(0).text(path.toString()).u8(recursive ? 1 : 0).toBytes());
  }

  private TestStream watch(boolean recursive) {
    TestStream stream = start(root, recursive);
    assertThat(stream.record().code()).isZero();
    return stream;
  }

  private void write(Path file) {
    byte[] arguments = new Payload().u32(0).text(file.toString()).u32(0xFFFF_FFFFL).u8(0).toBytes();
    TestStream stream = guest.task(WRITE, arguments);
    stream.write("content").end();
    assertThat(stream.record().code()).isZero();
  }

  private static List<Event> awaitEvent(TestStream watch, Event expected) {
    while (!events(watch).contains(expected)) {
      watch.awaitBytes(1, watch.received(1) + 1);
    }
    return events(watch);
  }

  /** The complete events so far. */
  private static List<Event> events(TestStream watch) {
    ByteBuffer buffer = ByteBuffer.wrap(watch.bytes(1));
    List<Event> events = new ArrayList<>();
    try {
      while (buffer.hasRemaining()) {
        events.add(
            new Event(
                buffer.get(), buffer.get() != 0, TaskRecord.text(buffer), TaskRecord.text(buffer)));
      }
    } catch (java.nio.BufferUnderflowException e) {
      // The rest of the last one is on its way.
    }
    return events;
  }

  record Event(int kind, boolean directory, String path, String oldPath) {}
}
