package dev.hopx.guest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class FileTest {
  private static final int STAT = 1;
  private static final int LIST = 2;
  private static final int READ = 3;
  private static final int WRITE = 4;
  private static final int MKDIR = 5;
  private static final int REMOVE = 6;
  private static final int RENAME = 7;
  private static final int CHMOD = 8;
  private static final int PARENTS = 1;
  private static final int EXCLUSIVE = 2;
  private static final long KEEP_MODE = 0xFFFF_FFFFL;
  private static final int USER = 1234;

  private final TestGuest guest = TestGuest.start();
  private final Path inside = guest.directory().resolve("inside");
  private final Path outside = guest.directory().resolve("outside");

  @BeforeEach
  void makeDirectories() throws IOException {
    Files.setPosixFilePermissions(guest.directory(), PosixFilePermissions.fromString("rwxr-xr-x"));
    Files.createDirectory(inside);
    Files.createDirectory(outside);
    Files.writeString(outside.resolve("secret"), "secret");
  }

  @AfterEach
  void closeGuest() {
    guest.close();
  }

  // ---- stat

  @Test
  void tellsOfAFile() throws IOException {
    Path file = Files.writeString(inside.resolve("あ b.txt"), "four");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
    TaskRecord record = stat(file, true);
    TaskRecord.Stat stat = record.stat().orElseThrow();
    assertThat(record.path()).isEqualTo(file.toString());
    assertThat(stat.kind()).isEqualTo(TaskRecord.Stat.FILE);
    assertThat(stat.mode()).isEqualTo(0640);
    assertThat(stat.size()).isEqualTo(4);
    assertThat(Instant.ofEpochSecond(stat.seconds(), stat.nanoseconds()))
        .isEqualTo(Files.getLastModifiedTime(file).toInstant());
    assertThat(stat.inode()).isEqualTo(Files.getAttribute(file, "unix:ino"));
    assertThat(stat.link()).isEmpty();
  }

  @Test
  void followsALinkOnlyWhenAsked() throws IOException {
    Path file = Files.writeString(inside.resolve("file"), "x");
    Path link = Files.createSymbolicLink(inside.resolve("link"), Path.of("file"));
    assertThat(stat(link, true).path()).isEqualTo(file.toString());
    TaskRecord record = stat(link, false);
    assertThat(record.path()).isEqualTo(link.toString());
    assertThat(record.stat().orElseThrow().kind()).isEqualTo(TaskRecord.Stat.LINK);
    assertThat(record.stat().orElseThrow().link()).isEqualTo("file");
  }

  @Test
  void resolvesDotsAndSlashes() throws IOException {
    Path file = Files.writeString(inside.resolve("file"), "x");
    String odd = inside + "/.//../inside/./file//";
    assertThat(statPath(odd, true).path()).isEqualTo(file.toString());
    assertThat(statPath("/../../" + inside, true).path()).isEqualTo(inside.toString());
    assertThat(statPath("/", true).path()).isEqualTo("/");
  }

  @Test
  void tellsErrors() throws IOException {
    Files.writeString(inside.resolve("file"), "x");
    Files.createSymbolicLink(inside.resolve("loop"), Path.of("loop"));
    Files.createSymbolicLink(inside.resolve("dangling"), Path.of("nothing"));
    assertThat(stat(inside.resolve("none"), true).code()).isEqualTo(TaskRecord.NO_ENTRY);
    assertThat(stat(inside.resolve("dangling"), true).code()).isEqualTo(TaskRecord.NO_ENTRY);
    assertThat(stat(inside.resolve("dangling"), false).code()).isZero();
    assertThat(stat(inside.resolve("file/x"), true).code()).isEqualTo(TaskRecord.NOT_DIRECTORY);
    assertThat(stat(inside.resolve("loop"), true).code()).isEqualTo(TaskRecord.TOO_MANY_LINKS);
    assertThat(statPath("relative", true).code()).isEqualTo(TaskRecord.INVALID);
    assertThat(statPath("", true).code()).isEqualTo(TaskRecord.INVALID);
    assertThat(statPath("/a\0b", true).code()).isEqualTo(TaskRecord.INVALID);
    assertThat(statPath("/" + "x".repeat(255), true).code()).isEqualTo(TaskRecord.NO_ENTRY);
    assertThat(statPath("/" + "x".repeat(256), true).code()).isEqualTo(TaskRecord.NAME_TOO_LONG);
    assertThat(statPath("/./".repeat(1365), true).code()).isZero();
    assertThat(statPath("/./".repeat(1365) + "/", true).code()).isEqualTo(TaskRecord.NAME_TOO_LONG);
  }

  @Test
  void followsFortyLinksAndNoMore() throws IOException {
    Files.writeString(inside.resolve("0"), "x");
    for (int i = 1; i <= 41; i++) {
      Files.createSymbolicLink(inside.resolve("" + i), Path.of("" + (i - 1)));
    }
    assertThat(stat(inside.resolve("40"), true).code()).isZero();
    assertThat(stat(inside.resolve("41"), true).code()).isEqualTo(TaskRecord.TOO_MANY_LINKS);
  }

  @Test
  void hasTheRightsOfItsIdentity() throws IOException {
    Path locked = Files.createDirectory(inside.resolve("locked"));
    Files.writeString(locked.resolve("file"), "x");
    Files.setPosixFilePermissions(locked, PosixFilePermissions.fromString("rwx------"));
    assertThat(as(USER, STAT, path(locked.resolve("file")).u8(1)).code())
        .isEqualTo(TaskRecord.ACCESS_DENIED);
    assertThat(as(USER, LIST, path(locked)).code()).isEqualTo(TaskRecord.ACCESS_DENIED);
    assertThat(as(USER, REMOVE, path(locked).u8(1)).code()).isEqualTo(TaskRecord.ACCESS_DENIED);
  }

  // ---- roots

  @Test
  void judgesByWhereAPathEnds() throws IOException {
    Files.writeString(inside.resolve("file"), "x");
    Files.createSymbolicLink(inside.resolve("out"), outside);
    Files.createSymbolicLink(outside.resolve("in"), inside);
    assertThat(statInside(inside.resolve("file")).code()).isZero();
    assertThat(statInside(inside).code()).isZero();
    assertThat(statInside(outside.resolve("in/file")).code()).isZero();
    assertThat(statInside(outside.resolve("secret")).code()).isEqualTo(TaskRecord.OUTSIDE);
    assertThat(statInside(inside.resolve("out/secret")).code()).isEqualTo(TaskRecord.OUTSIDE);
    assertThat(statInside(Path.of(inside + "/../outside/secret")).code())
        .isEqualTo(TaskRecord.OUTSIDE);
    assertThat(statInside(Path.of(inside + "side")).code()).isEqualTo(TaskRecord.NO_ENTRY);
    Files.createDirectory(Path.of(inside + "-too"));
    assertThat(statInside(Path.of(inside + "-too")).code()).isEqualTo(TaskRecord.OUTSIDE);
  }

  @Test
  void whatIsMissingOutsideIsMissing() {
    assertThat(statInside(outside.resolve("none")).code()).isEqualTo(TaskRecord.NO_ENTRY);
    assertThat(statInside(Path.of("/no/such/path")).code()).isEqualTo(TaskRecord.NO_ENTRY);
    assertThat(statInside(outside.resolve("secret/x")).code()).isEqualTo(TaskRecord.NO_ENTRY);
  }

  @Test
  void whatIsLockedOutsideIsOutside() throws IOException {
    Path locked = Files.createDirectory(outside.resolve("locked"));
    Files.setPosixFilePermissions(locked, PosixFilePermissions.fromString("rwx------"));
    Payload arguments = rooted(inside).text(locked.resolve("x").toString()).u8(1);
    assertThat(as(USER, STAT, arguments).code()).isEqualTo(TaskRecord.OUTSIDE);
  }

  @Test
  void makesNothingOutside() throws IOException {
    Files.createSymbolicLink(inside.resolve("dangling"), outside.resolve("new"));
    Files.createSymbolicLink(inside.resolve("out"), outside);
    for (Path path :
        List.of(
            outside.resolve("new"),
            outside.resolve("a/b"),
            inside.resolve("dangling"),
            inside.resolve("out/new"))) {
      Payload write = rooted(inside).text(path.toString()).u32(KEEP_MODE).u8(PARENTS);
      assertThat(root(WRITE, write).code()).isEqualTo(TaskRecord.OUTSIDE);
      Payload make = rooted(inside).text(path.toString()).u32(0755).u8(PARENTS);
      assertThat(root(MKDIR, make).code()).isEqualTo(TaskRecord.OUTSIDE);
    }
    Files.writeString(inside.resolve("file"), "x");
    Payload rename =
        rooted(inside)
            .text(inside.resolve("file").toString())
            .text(outside.resolve("file").toString())
            .u8(1);
    assertThat(root(RENAME, rename).code()).isEqualTo(TaskRecord.OUTSIDE);
    assertThat(names(outside)).containsExactly("secret");
  }

  @Test
  void aRootMayBeALinkOrMissing() throws IOException {
    Path link = Files.createSymbolicLink(guest.directory().resolve("root"), inside);
    Files.writeString(inside.resolve("file"), "x");
    assertThat(root(STAT, rooted(link).text(inside + "/file").u8(1)).code()).isZero();
    Path missing = guest.directory().resolve("missing");
    Payload make = rooted(missing).text(missing.resolve("a/b").toString()).u32(0755).u8(PARENTS);
    assertThat(root(MKDIR, make).code()).isZero();
    assertThat(missing.resolve("a/b")).isDirectory();
  }

  @Test
  void anyOfSeveralRootsIsEnough() {
    Payload arguments = roots(inside, outside).text(outside.resolve("secret").toString()).u8(1);
    assertThat(root(STAT, arguments).code()).isZero();
    assertThat(root(STAT, roots(Path.of("/")).text("/etc/hostname").u8(1)).code()).isZero();
  }

  @Test
  void aRootItselfStays() {
    Payload remove = rooted(inside).text(inside.toString()).u8(1);
    assertThat(root(REMOVE, remove).code()).isEqualTo(TaskRecord.OUTSIDE);
    Payload viaParent = rooted(inside).text(inside + "/../inside/.").u8(1);
    assertThat(root(REMOVE, viaParent).code()).isEqualTo(TaskRecord.OUTSIDE);
    Payload rename =
        rooted(inside).text(inside.toString()).text(inside.resolve("x").toString()).u8(1);
    assertThat(root(RENAME, rename).code()).isEqualTo(TaskRecord.OUTSIDE);
    assertThat(inside).isDirectory();
  }

  // ---- list

  @Test
  void listsEntriesWithoutFollowing() throws IOException {
    Files.writeString(inside.resolve("file"), "123");
    Files.createDirectory(inside.resolve("directory"));
    Files.createSymbolicLink(inside.resolve("link"), Path.of("nowhere"));
    Map<String, TaskRecord.Stat> entries = list(inside);
    assertThat(entries).containsOnlyKeys("file", "directory", "link");
    assertThat(entry(entries, "file").size()).isEqualTo(3);
    assertThat(entry(entries, "directory").kind()).isEqualTo(TaskRecord.Stat.DIRECTORY);
    assertThat(entry(entries, "link").link()).isEqualTo("nowhere");
  }

  @Test
  void listsManyEntriesOnce() throws IOException {
    for (int i = 0; i < 2000; i++) {
      Files.createFile(inside.resolve("entry-with-a-rather-long-name-" + i));
    }
    assertThat(list(inside)).hasSize(2000);
  }

  @Test
  void listsOnlyDirectories() throws IOException {
    Files.writeString(inside.resolve("file"), "x");
    assertThat(root(LIST, path(inside.resolve("file"))).code()).isEqualTo(TaskRecord.NOT_DIRECTORY);
    assertThat(root(LIST, path(inside.resolve("none"))).code()).isEqualTo(TaskRecord.NO_ENTRY);
    assertThat(list(Files.createDirectory(inside.resolve("empty")))).isEmpty();
  }

  // ---- read

  @Test
  void readsAFileOrAPartOfIt() throws IOException {
    byte[] content = new byte[1_000_000];
    new java.util.Random(2).nextBytes(content);
    Path file = Files.write(inside.resolve("file"), content);
    assertThat(read(file, 0, -1)).isEqualTo(content);
    assertThat(read(file, 10, 5)).isEqualTo(java.util.Arrays.copyOfRange(content, 10, 15));
    assertThat(read(file, 999_999, 5)).hasSize(1);
    assertThat(read(file, 1_000_000, 5)).isEmpty();
    assertThat(read(file, 5_000_000, 5)).isEmpty();
    assertThat(read(file, 0, 0)).isEmpty();
  }

  @Test
  void readsOnlyRegularFilesAndNeverBlocks() throws Exception {
    Path fifo = inside.resolve("fifo");
    assertThat(new ProcessBuilder("mkfifo", fifo.toString()).start().waitFor()).isZero();
    Files.createSymbolicLink(inside.resolve("link"), fifo);
    assertThat(readCode(fifo)).isEqualTo(TaskRecord.NOT_REGULAR);
    assertThat(readCode(inside.resolve("link"))).isEqualTo(TaskRecord.NOT_REGULAR);
    assertThat(readCode(Path.of("/dev/zero"))).isEqualTo(TaskRecord.NOT_REGULAR);
    assertThat(readCode(inside)).isEqualTo(TaskRecord.IS_DIRECTORY);
    assertThat(readCode(inside.resolve("none"))).isEqualTo(TaskRecord.NO_ENTRY);
    TaskRecord write = root(WRITE, path(fifo).u32(KEEP_MODE).u8(0));
    assertThat(write.code()).isEqualTo(TaskRecord.NOT_REGULAR);
    assertThat(stat(fifo, true).stat().orElseThrow().kind()).isEqualTo(TaskRecord.Stat.OTHER);
  }

  @Test
  void givesTheRecordBeforeTheContent() throws IOException {
    Path file = Files.write(inside.resolve("file"), new byte[100_000]);
    for (int i = 0; i < 50; i++) {
      TestStream stream = guest.task(READ, path(file).u64(0).u64(-1).toBytes());
      stream.awaitBytes(1, 1);
      assertThat(stream.received(2)).as("bytes of the record").isPositive();
      assertThat(stream.record().stat().orElseThrow().size()).isEqualTo(100_000);
      stream.close();
    }
  }

  @Test
  void aReaderThatStopsIsRemoved() throws Exception {
    Path file = Files.write(inside.resolve("file"), new byte[10_000_000]);
    TestStream stream = guest.task(READ, path(file).u64(0).u64(-1).toBytes()).withoutCredit();
    stream.awaitBytes(1, Frame.MAX_WINDOW);
    stream.close();
    Eventually.check(() -> assertThat(children()).isEmpty());
  }

  // ---- write

  @Test
  void writesAtomically() throws Exception {
    Path file = inside.resolve("file");
    TestStream stream = guest.task(WRITE, path(file).u32(KEEP_MODE).u8(0).toBytes());
    stream.write("con");
    Eventually.check(() -> assertThat(names(inside)).hasSize(1));
    assertThat(file).doesNotExist();
    stream.write("tent").end();
    TaskRecord record = stream.record();
    assertThat(record.code()).isZero();
    assertThat(record.stat().orElseThrow().size()).isEqualTo(7);
    assertThat(record.stat().orElseThrow().mode()).isEqualTo(0644);
    assertThat(file).hasContent("content");
    assertThat(names(inside)).containsExactly("file");
  }

  @Test
  void anAbortedWriteLeavesNoTrace() throws Exception {
    Path file = Files.writeString(inside.resolve("file"), "old");
    for (int i = 0; i < 20; i++) {
      TestStream stream = guest.task(WRITE, path(file).u32(KEEP_MODE).u8(0).toBytes());
      stream.write("new");
      if (i % 2 == 0) {
        stream.await(Frame.CREDIT);
        Thread.sleep(5);
      }
      stream.close();
    }
    Eventually.check(() -> assertThat(children()).isEmpty());
    assertThat(names(inside)).containsExactly("file");
    assertThat(file).hasContent("old");
  }

  @Test
  void aWriteLostWithItsConnectionLeavesNoTrace() throws Exception {
    Path file = inside.resolve("file");
    TestStream stream = guest.task(WRITE, path(file).u32(KEEP_MODE).u8(0).toBytes());
    stream.write("half");
    Eventually.check(() -> assertThat(names(inside)).hasSize(1));
    guest.disconnect();
    Eventually.check(() -> assertThat(names(inside)).isEmpty());
    guest.welcome();
    assertThat(guest.list()).isEmpty();
  }

  @Test
  void keepsOrSetsTheMode() throws IOException {
    Path file = Files.writeString(inside.resolve("file"), "old");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-x--x"));
    assertThat(write(file, "new", KEEP_MODE, 0).stat().orElseThrow().mode()).isEqualTo(0751);
    assertThat(write(file, "new", 0600, 0).stat().orElseThrow().mode()).isEqualTo(0600);
    assertThat(write(file, "", 0600, 0).stat().orElseThrow().size()).isZero();
  }

  @Test
  void writesThroughLinks() throws IOException {
    Path file = Files.writeString(inside.resolve("file"), "old");
    Path link = Files.createSymbolicLink(inside.resolve("link"), Path.of("file"));
    assertThat(write(link, "new", KEEP_MODE, 0).path()).isEqualTo(file.toString());
    assertThat(link).isSymbolicLink();
    assertThat(file).hasContent("new");
    Path dangling = Files.createSymbolicLink(inside.resolve("dangling"), Path.of("made"));
    assertThat(write(dangling, "made", KEEP_MODE, 0).code()).isZero();
    assertThat(inside.resolve("made")).hasContent("made");
    assertThat(dangling).isSymbolicLink();
  }

  @Test
  void writesExclusively() throws IOException {
    Path file = inside.resolve("file");
    assertThat(write(file, "first", KEEP_MODE, EXCLUSIVE).code()).isZero();
    assertThat(write(file, "second", KEEP_MODE, EXCLUSIVE).code()).isEqualTo(TaskRecord.EXISTS);
    assertThat(file).hasContent("first");
    // One that appears while the content arrives is found at the end.
    Path late = inside.resolve("late");
    TestStream stream = guest.task(WRITE, path(late).u32(KEEP_MODE).u8(EXCLUSIVE).toBytes());
    stream.write("mine");
    Eventually.check(() -> assertThat(names(inside)).hasSize(2));
    Files.writeString(late, "theirs");
    stream.end();
    assertThat(stream.record().code()).isEqualTo(TaskRecord.EXISTS);
    assertThat(late).hasContent("theirs");
    assertThat(names(inside)).containsExactly("file", "late");
  }

  @Test
  void makesParentsOnlyWhenAsked() throws IOException {
    Path file = inside.resolve("a/./b//c");
    assertThat(write(file, "x", KEEP_MODE, 0).code()).isEqualTo(TaskRecord.NO_ENTRY);
    byte[] arguments = roots().text(inside + "/a/./b//c").u32(KEEP_MODE).u8(PARENTS).toBytes();
    TestStream stream = guest.task(WRITE, arguments).end();
    TaskRecord record = stream.record();
    assertThat(record.code()).isZero();
    assertThat(record.path()).isEqualTo(inside + "/a/b/c");
    assertThat(inside.resolve("a/b/c")).isEmptyFile();
    assertThat(write(Path.of(inside + "/n/../x"), "x", KEEP_MODE, PARENTS).code())
        .isEqualTo(TaskRecord.NO_ENTRY);
  }

  @Test
  void doesNotWriteOverDirectoriesOrReadOnlyFiles() throws IOException {
    assertThat(write(inside, "x", KEEP_MODE, 0).code()).isEqualTo(TaskRecord.IS_DIRECTORY);
    Files.setPosixFilePermissions(inside, PosixFilePermissions.fromString("rwxrwxrwx"));
    Path file = Files.writeString(inside.resolve("file"), "root's");
    TaskRecord record = as(USER, WRITE, path(file).u32(KEEP_MODE).u8(0));
    assertThat(record.code()).isEqualTo(TaskRecord.ACCESS_DENIED);
    assertThat(file).hasContent("root's");
  }

  @Test
  void theOwnerIsTheIdentity() throws IOException {
    Files.setPosixFilePermissions(inside, PosixFilePermissions.fromString("rwxrwxrwx"));
    TestStream stream =
        guest.task(WRITE, USER, path(inside.resolve("file")).u32(KEEP_MODE).u8(0).toBytes());
    stream.end();
    TaskRecord.Stat stat = stream.record().stat().orElseThrow();
    assertThat(stat.uid()).isEqualTo(USER);
    assertThat(stat.gid()).isEqualTo(USER);
  }

  @Test
  void aWriteThatFailsEarlyHoldsNobodyUp() {
    TestStream stream =
        guest.task(WRITE, path(inside.resolve("none/file")).u32(KEEP_MODE).u8(0).toBytes());
    assertThat(stream.record().code()).isEqualTo(TaskRecord.NO_ENTRY);
    stream.write(new byte[Frame.MAX_WINDOW]);
    assertThat(stream.await(Frame.CREDIT, 2).buffer().getLong(1)).isPositive();
  }

  // ---- the rest

  @Test
  void makesDirectories() {
    Path deep = inside.resolve("a/b/c");
    assertThat(root(MKDIR, path(deep).u32(0700).u8(0)).code()).isEqualTo(TaskRecord.NO_ENTRY);
    assertThat(root(MKDIR, path(deep).u32(02770).u8(1)).stat().orElseThrow().mode())
        .isEqualTo(02770);
    assertThat(stat(inside.resolve("a"), true).stat().orElseThrow().mode()).isEqualTo(0755);
    assertThat(root(MKDIR, path(deep).u32(0700).u8(1)).code()).isZero();
    assertThat(root(MKDIR, path(deep).u32(0700).u8(0)).code()).isEqualTo(TaskRecord.EXISTS);
    write(inside.resolve("file"), "x", KEEP_MODE, 0);
    assertThat(root(MKDIR, path(inside.resolve("file")).u32(0700).u8(1)).code())
        .isEqualTo(TaskRecord.EXISTS);
    assertThat(root(MKDIR, path(inside.resolve("file/x")).u32(0700).u8(1)).code())
        .isEqualTo(TaskRecord.NOT_DIRECTORY);
  }

  @Test
  void removesATreeButNotWhatItsLinksLeadTo() throws IOException {
    Path tree =
        Files.createDirectories(inside.resolve("tree/a/b/c")).resolve("../../..").normalize();
    Files.writeString(tree.resolve("a/file"), "x");
    Files.createSymbolicLink(tree.resolve("a/out"), outside);
    Files.createSymbolicLink(tree.resolve("out"), outside.resolve("secret"));
    assertThat(root(REMOVE, path(tree).u8(0)).code()).isEqualTo(TaskRecord.NOT_EMPTY);
    assertThat(root(REMOVE, path(tree).u8(1)).code()).isZero();
    assertThat(tree).doesNotExist();
    assertThat(outside.resolve("secret")).exists();
    assertThat(root(REMOVE, path(tree).u8(1)).code()).isEqualTo(TaskRecord.NO_ENTRY);
  }

  @Test
  void removesALinkAndNotItsTarget() throws IOException {
    Path link = Files.createSymbolicLink(inside.resolve("link"), outside);
    assertThat(root(REMOVE, path(link).u8(1)).code()).isZero();
    assertThat(outside.resolve("secret")).exists();
    assertThat(link).doesNotExist();
  }

  @Test
  void removesADeepTreeWithFewDescriptors() throws Exception {
    Path deep = inside.resolve("d/".repeat(1500));
    Files.createDirectories(deep);
    Files.createFile(deep.resolve("file"));
    assertThat(root(REMOVE, path(inside.resolve("d")).u8(1)).code()).isZero();
    assertThat(names(inside)).isEmpty();
  }

  @Test
  void removesAWideTree() throws IOException {
    for (int i = 0; i < 300; i++) {
      Path directory = Files.createDirectories(inside.resolve("wide/directory-" + i));
      Files.createFile(directory.resolve("file"));
    }
    assertThat(root(REMOVE, path(inside.resolve("wide")).u8(1)).code()).isZero();
    assertThat(names(inside)).isEmpty();
  }

  @Test
  void renames() throws IOException {
    Path from = Files.writeString(inside.resolve("from"), "from");
    Path to = Files.writeString(inside.resolve("to"), "to");
    assertThat(rename(from, to, false).code()).isEqualTo(TaskRecord.EXISTS);
    assertThat(to).hasContent("to");
    TaskRecord record = rename(from, to, true);
    assertThat(record.path()).isEqualTo(to.toString());
    assertThat(record.stat().orElseThrow().size()).isEqualTo(4);
    assertThat(to).hasContent("from");
    assertThat(rename(to, inside.resolve("new"), false).code()).isZero();
    assertThat(rename(to, from, true).code()).isEqualTo(TaskRecord.NO_ENTRY);
    assertThat(rename(inside.resolve("new"), inside.resolve("no/new"), true).code())
        .isEqualTo(TaskRecord.NO_ENTRY);
  }

  @Test
  void renamesALinkItself() throws IOException {
    Path link = Files.createSymbolicLink(inside.resolve("link"), outside.resolve("secret"));
    assertThat(rename(link, inside.resolve("moved"), false).code()).isZero();
    assertThat(inside.resolve("moved")).isSymbolicLink();
    assertThat(outside.resolve("secret")).exists();
  }

  @Test
  void changesModes() throws IOException {
    Path file = Files.writeString(inside.resolve("file"), "x");
    Path link = Files.createSymbolicLink(inside.resolve("link"), Path.of("file"));
    TaskRecord record = root(CHMOD, path(link).u32(04711));
    assertThat(record.path()).isEqualTo(file.toString());
    assertThat(record.stat().orElseThrow().mode()).isEqualTo(04711);
    Files.setPosixFilePermissions(inside, PosixFilePermissions.fromString("rwxrwxrwx"));
    assertThat(as(USER, CHMOD, path(file).u32(0777)).code()).isEqualTo(TaskRecord.NOT_PERMITTED);
  }

  @Test
  void manyTasksAtOnceAllAnswer() throws IOException {
    Path file = Files.writeString(inside.resolve("file"), "x");
    List<TestStream> tasks =
        Stream.generate(() -> guest.task(STAT, path(file).u8(1).toBytes())).limit(200).toList();
    for (TestStream task : tasks) {
      assertThat(task.record().code()).isZero();
      assertThat(task.awaitExit().value()).isZero();
      task.close();
    }
    assertThat(guest.list()).isEmpty();
  }

  // ---- helpers

  @Test
  void aLinkThatTakesTheNameOfANewDirectoryIsNotFollowed() throws Exception {
    Path secret = outside.resolve("secret");
    Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
    Path made = inside.resolve("made");
    Process slowed = slowDownChangesOfModes();
    try {
      TestStream stream =
          guest.task(MKDIR, rooted(inside).text(made.toString()).u32(02777).u8(0).toBytes());
      Eventually.check(() -> assertThat(made).exists());
      Files.delete(made);
      Files.createSymbolicLink(made, secret);
      stream.record();
      assertThat(Files.getPosixFilePermissions(secret))
          .isEqualTo(PosixFilePermissions.fromString("rw-------"));
    } finally {
      slowed.destroy();
      slowed.waitFor();
    }
  }

  /** Makes every worker wait before it changes a mode, so that a race is always lost. */
  private Process slowDownChangesOfModes() throws IOException {
    Process process;
    try {
      process =
          new ProcessBuilder(
                  "strace",
                  "-f",
                  "-e",
                  "inject=chmod,fchmod,fchmodat:delay_enter=1000000",
                  "-p",
                  Long.toString(guest.pid()))
              .redirectErrorStream(true)
              .start();
    } catch (IOException e) {
      abort("SKIPPED: no strace, so a race in making directories was not tried; install strace");
      throw e;
    }
    // The first line, "attached" or why it cannot.
    String line = process.inputReader().readLine();
    assumeTrue(
        line != null && line.endsWith("attached"),
        "SKIPPED: strace cannot attach, so a race in making directories was not tried: " + line);
    return process;
  }

  private static Payload roots(Path... roots) {
    return new Payload().texts(Stream.of(roots).map(Path::toString).toList());
  }

  private static Payload rooted(Path root) {
    return roots(root);
  }

  private static Payload path(Path path) {
    return roots().text(path.toString());
  }

  private TaskRecord root(int operation, Payload arguments) {
    return as(0, operation, arguments);
  }

  private TaskRecord as(int identity, int operation, Payload arguments) {
    TestStream stream = guest.task(operation, identity, arguments.toBytes());
    TaskRecord record = stream.record();
    stream.close();
    return record;
  }

  private TaskRecord stat(Path path, boolean follow) {
    return statPath(path.toString(), follow);
  }

  private TaskRecord statPath(String path, boolean follow) {
    return root(STAT, roots().text(path).u8(follow ? 1 : 0));
  }

  private TaskRecord statInside(Path path) {
    return root(STAT, rooted(inside).text(path.toString()).u8(1));
  }

  private Map<String, TaskRecord.Stat> list(Path directory) {
    TestStream stream = guest.task(LIST, path(directory).toBytes());
    assertThat(stream.record().code()).isZero();
    assertThat(stream.awaitEnd().value()).isZero();
    ByteBuffer buffer = ByteBuffer.wrap(stream.bytes(1));
    Map<String, TaskRecord.Stat> entries = new TreeMap<>();
    while (buffer.hasRemaining()) {
      String name = TaskRecord.text(buffer);
      assertThat(entries.put(name, TaskRecord.Stat.read(buffer))).as(name).isNull();
    }
    return entries;
  }

  private static TaskRecord.Stat entry(Map<String, TaskRecord.Stat> entries, String name) {
    return Optional.ofNullable(entries.get(name)).orElseThrow();
  }

  private byte[] read(Path file, long offset, long length) {
    TestStream stream = guest.task(READ, path(file).u64(offset).u64(length).toBytes());
    assertThat(stream.record().code()).isZero();
    assertThat(stream.awaitEnd().value()).isZero();
    return stream.bytes(1);
  }

  private int readCode(Path file) {
    return root(READ, path(file).u64(0).u64(-1)).code();
  }

  private TaskRecord write(Path file, String content, long mode, int flags) {
    TestStream stream = guest.task(WRITE, path(file).u32(mode).u8(flags).toBytes());
    if (!content.isEmpty()) {
      stream.write(content.getBytes(UTF_8));
    }
    stream.end();
    return stream.record();
  }

  private TaskRecord rename(Path from, Path to, boolean replace) {
    return root(RENAME, path(from).text(to.toString()).u8(replace ? 1 : 0));
  }

  private List<ProcessHandle> children() {
    return ProcessHandle.of(guest.pid()).orElseThrow().children().toList();
  }

  private static List<String> names(Path directory) throws IOException {
    try (Stream<Path> entries = Files.list(directory)) {
      return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
    }
  }
}
