package dev.hopx.channel;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Against the real hopx-init, run as an ordinary process. */
@Timeout(120)
class RealGuestTest {
  private static final Duration SOON = Duration.ofSeconds(10);
  private static final Map<String, String> ENVIRONMENT = Map.of("PATH", "/usr/bin:/bin");
  private static final int HUNDRED_MEGABYTES = 100_000_000;

  @TempDir private Path files;

  private static Spawn shell(String script) {
    return Spawn.of(List.of("sh", "-c", script), ENVIRONMENT, "/");
  }

  private static Spawn kept(Spawn spawn, String tag) {
    return new Spawn(
        spawn.argv(),
        spawn.environment(),
        spawn.workingDirectory(),
        spawn.user(),
        spawn.stdinPipe(),
        spawn.terminal(),
        spawn.mergeStderr(),
        true,
        tag);
  }

  private static Spawn terminal(Spawn spawn, int columns, int rows) {
    return new Spawn(
        spawn.argv(),
        spawn.environment(),
        spawn.workingDirectory(),
        spawn.user(),
        false,
        Optional.of(new Spawn.TerminalSize(columns, rows)),
        false,
        false,
        "");
  }

  private static String text(InputStream input) throws IOException {
    return new String(input.readAllBytes(), UTF_8);
  }

  private static GuestFiles files(ChannelFixture fixture) {
    return fixture.channel().files(FileRoots.UNRESTRICTED, GuestUser.ROOT);
  }

  private static void hasKind(Throwable failure, GuestException.Kind kind) {
    assertThat(failure)
        .isInstanceOfSatisfying(GuestException.class, e -> assertThat(e.kind()).isEqualTo(kind));
  }

  @Test
  void processes() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT, pid -> true);
        RealGuest guest = RealGuest.dial(fixture.socket())) {
      GuestChannel channel = fixture.channel();
      channel.awaitConnected(SOON);
      assertThat(channel.ping(SOON)).isPositive();
      assertThat(channel.bootId().orElseThrow()).hasSize(32);

      try (GuestProcess process = channel.start(shell("echo out; echo err >&2; exit 7"))) {
        assertThat(text(process.stdout())).isEqualTo("out\n");
        assertThat(text(process.stderr())).isEqualTo("err\n");
        assertThat(process.awaitExit().shellCode()).isEqualTo(7);
        assertThatThrownBy(process::stdin).isInstanceOf(IllegalStateException.class);
      }
      try (GuestProcess process = channel.start(shell("cat; echo $?").withStdin())) {
        process.stdin().write("あ\n".getBytes(UTF_8));
        process.stdin().close();
        assertThat(text(process.stdout())).isEqualTo("あ\n0\n");
      }
      try (GuestProcess process = channel.start(shell("sleep 1000 & sleep 1000"))) {
        assertThat(process.awaitExit(Duration.ofMillis(50))).isEmpty();
        process.killTree();
        assertThat(process.awaitExit().signal()).hasValue(9);
        assertThat(text(process.stdout())).isEmpty();
      }
      assertThatThrownBy(
              () -> channel.start(Spawn.of(List.of("no-such-program"), ENVIRONMENT, "/")))
          .satisfies(e -> hasKind(e, GuestException.Kind.NOT_FOUND))
          .hasMessageContaining("no-such-program");
      assertThatThrownBy(
              () -> channel.start(Spawn.of(List.of("true"), ENVIRONMENT, "/no/such/directory")))
          .satisfies(e -> hasKind(e, GuestException.Kind.NOT_FOUND))
          .hasMessageContaining("/no/such/directory");
      assertThatThrownBy(
              () -> channel.start(Spawn.of(List.of("true", "x".repeat(300_000)), ENVIRONMENT, "/")))
          .satisfies(e -> hasKind(e, GuestException.Kind.TOO_LARGE));
      assertThatThrownBy(() -> channel.start(Spawn.of(List.of("a\0b"), ENVIRONMENT, "/")))
          .satisfies(e -> hasKind(e, GuestException.Kind.INVALID_PATH));
      assertThat(channel.liveStreams()).isZero();
      assertThat(guest.pid()).isPositive();
    }
  }

  @Test
  void aHookIsCalledWhileTheProcessStillWaits() throws Exception {
    Path ran = files.resolve("ran");
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT, pid -> true);
        RealGuest guest = RealGuest.dial(fixture.socket())) {
      fixture.channel().awaitConnected(SOON);
      List<String> calls = new ArrayList<>();
      SpawnHook hook =
          new SpawnHook() {
            @Override
            public void placed(int guestPid) {
              assertThat(ProcessHandle.of(guestPid)).isPresent();
              assertThat(ran).doesNotExist();
              calls.add("placed");
            }

            @Override
            public void killTree() {
              calls.add("killed");
            }

            @Override
            public void released() {
              calls.add("released");
            }
          };
      try (GuestProcess process = fixture.channel().start(shell("echo > " + ran), hook)) {
        assertThat(process.awaitExit().shellCode()).isZero();
        process.killTree();
      }
      assertThat(ran).exists();
      assertThat(calls).containsExactly("placed", "killed", "released");
      assertThat(guest.pid()).isPositive();
    }
  }

  @Test
  void onlyTheExpectedProcessConnects() throws Exception {
    long self = ProcessHandle.current().pid();
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT);
        RealGuest stranger = RealGuest.dial(fixture.socket())) {
      assertThat(stranger.pid()).isNotEqualTo(self);
      assertThatThrownBy(() -> fixture.channel().awaitConnected(Duration.ofMillis(300)))
          .satisfies(e -> hasKind(e, GuestException.Kind.LOST));
      try (FakeGuest expected = FakeGuest.connect(fixture.socket(), 0)) {
        fixture.channel().awaitConnected(SOON);
        assertThat(expected).isNotNull();
      }
    }
  }

  @Test
  void hundredMegabytesBothWaysInFlatMemory() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT, pid -> true);
        RealGuest guest = RealGuest.dial(fixture.socket())) {
      fixture.channel().awaitConnected(SOON);
      try (GuestProcess process =
          fixture.channel().start(Spawn.of(List.of("cat"), ENVIRONMENT, "/").withStdin())) {
        long before = usedMemory();
        CompletableFuture<String> sent =
            fixture.async(
                () -> {
                  try (OutputStream stdin = process.stdin()) {
                    return noise(stdin, HUNDRED_MEGABYTES);
                  }
                });
        // Nobody reads yet: the process stops by itself, and no more than a window is here.
        awaitUntil(() -> available(process) == Protocol.MAX_WINDOW);
        Thread.sleep(100);
        assertThat(process.stdout().available()).isEqualTo(Protocol.MAX_WINDOW);
        assertThat(sent).isNotDone();
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        byte[] piece = new byte[65_536];
        long total = 0;
        long most = 0;
        for (int count = process.stdout().read(piece);
            count >= 0;
            count = process.stdout().read(piece)) {
          digest.update(piece, 0, count);
          if (total / (HUNDRED_MEGABYTES / 2) != (total + count) / (HUNDRED_MEGABYTES / 2)) {
            most = Math.max(most, usedMemory() - before);
          }
          total += count;
        }
        assertThat(total).isEqualTo(HUNDRED_MEGABYTES);
        assertThat(HexFormat.of().formatHex(digest.digest())).isEqualTo(sent.get());
        assertThat(most).isLessThan(16_000_000);
        assertThat(guest.pid()).isPositive();
      }
    }
  }

  private static int available(GuestProcess process) {
    try {
      return process.stdout().available();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static long usedMemory() {
    System.gc();
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  /** Writes noise in odd pieces and gives its digest. */
  private static String noise(OutputStream output, int length) throws Exception {
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    Random random = new Random(length);
    byte[] piece = new byte[77_777];
    for (int written = 0; written < length; ) {
      int count = Math.min(piece.length, length - written);
      random.nextBytes(piece);
      digest.update(piece, 0, count);
      output.write(piece, 0, count);
      written += count;
    }
    return HexFormat.of().formatHex(digest.digest());
  }

  @Test
  void terminals() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT, pid -> true);
        RealGuest guest = RealGuest.dial(fixture.socket())) {
      fixture.channel().awaitConnected(SOON);
      Spawn spawn =
          terminal(shell("stty -echo; stty size; read line; stty size; echo \"<$line>\""), 81, 25);
      try (GuestProcess process = fixture.channel().start(spawn)) {
        byte[] first = process.stdout().readNBytes("25 81\r\n".length());
        assertThat(new String(first, UTF_8)).isEqualTo("25 81\r\n");
        process.resize(new Spawn.TerminalSize(100, 30));
        process.stdin().write("typed\n".getBytes(UTF_8));
        assertThat(text(process.stdout())).isEqualTo("30 100\r\n<typed>\r\n");
        assertThat(process.stderr().read()).isEqualTo(-1);
        assertThat(process.awaitExit().shellCode()).isZero();
      }
      assertThat(guest.pid()).isPositive();
    }
  }

  @Test
  void fileOperations() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT, pid -> true);
        RealGuest guest = RealGuest.dial(fixture.socket())) {
      fixture.channel().awaitConnected(SOON);
      GuestFiles guestFiles = files(fixture);
      for (String name : List.of("あ b.txt", "line\nbreak", "-rf", "quote\"'", "é".repeat(127))) {
        String path = files.resolve("sub/dir").resolve(name).toString();
        try (GuestFiles.GuestFileSink sink =
            guestFiles.write(path, OptionalInt.of(0600), true, true)) {
          sink.content().write(name.getBytes(UTF_8));
          assertThat(Path.of(path)).doesNotExist();
          FileStat stat = sink.commit();
          assertThat(stat.size()).isEqualTo(name.getBytes(UTF_8).length);
          assertThat(stat.mode()).isEqualTo(0600);
        }
        assertThat(Files.readString(Path.of(path))).isEqualTo(name);
        try (GuestFiles.GuestFileContent content = guestFiles.read(path, 1, OptionalLong.empty())) {
          assertThat(content.stat().kind()).isEqualTo(FileStat.Kind.FILE);
          assertThat(content.content().readAllBytes())
              .isEqualTo(
                  java.util.Arrays.copyOfRange(
                      name.getBytes(UTF_8), 1, name.getBytes(UTF_8).length));
        }
        assertThatThrownBy(
                () -> {
                  try (GuestFiles.GuestFileSink sink =
                      guestFiles.write(path, OptionalInt.empty(), false, true)) {
                    sink.commit();
                  }
                })
            .satisfies(e -> hasKind(e, GuestException.Kind.ALREADY_EXISTS));
      }
      Map<String, FileStat> entries = new HashMap<>();
      guestFiles.list(
          files.resolve("sub/dir").toString(), entry -> entries.put(entry.path(), entry));
      assertThat(entries.keySet())
          .containsExactlyInAnyOrder("あ b.txt", "line\nbreak", "-rf", "quote\"'", "é".repeat(127));

      String directory = files.resolve("made/deep").toString();
      assertThat(guestFiles.makeDirectory(directory, 0750, true).kind())
          .isEqualTo(FileStat.Kind.DIRECTORY);
      assertThat(guestFiles.changeMode(directory, 0700).mode()).isEqualTo(0700);
      assertThatThrownBy(() -> guestFiles.makeDirectory(directory, 0750, false))
          .satisfies(e -> hasKind(e, GuestException.Kind.ALREADY_EXISTS));
      assertThatThrownBy(() -> guestFiles.remove(files.resolve("made").toString(), false))
          .satisfies(e -> hasKind(e, GuestException.Kind.DIRECTORY_NOT_EMPTY));
      guestFiles.remove(files.resolve("made").toString(), true);
      assertThat(files.resolve("made")).doesNotExist();

      String renamed = files.resolve("renamed").toString();
      guestFiles.rename(files.resolve("sub/dir/-rf").toString(), renamed, false);
      Files.createSymbolicLink(files.resolve("link"), Path.of(renamed));
      FileStat link = guestFiles.stat(files.resolve("link").toString(), false);
      assertThat(link.kind()).isEqualTo(FileStat.Kind.LINK);
      assertThat(link.linkTarget()).isEqualTo(renamed);
      assertThat(guestFiles.stat(files.resolve("link").toString(), true).path()).isEqualTo(renamed);
      assertThat(guest.pid()).isPositive();
    }
  }

  @Test
  void fileOperationsThatFail() throws Exception {
    Path outside = Files.createTempDirectory("hopx-outside");
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT, pid -> true);
        RealGuest guest = RealGuest.dial(fixture.socket())) {
      fixture.channel().awaitConnected(SOON);
      GuestFiles guestFiles = files(fixture);
      String missing = files.resolve("missing").toString();
      assertThatThrownBy(() -> guestFiles.stat(missing, true))
          .satisfies(e -> hasKind(e, GuestException.Kind.NOT_FOUND))
          .hasMessageContaining(missing);
      assertThatThrownBy(() -> guestFiles.read(files.toString(), 0, OptionalLong.empty()))
          .satisfies(e -> hasKind(e, GuestException.Kind.IS_A_DIRECTORY));
      Path pipe = files.resolve("pipe");
      assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
      assertThatThrownBy(() -> guestFiles.read(pipe.toString(), 0, OptionalLong.empty()))
          .satisfies(e -> hasKind(e, GuestException.Kind.NOT_A_REGULAR_FILE));
      assertThatThrownBy(() -> guestFiles.stat("/" + "x".repeat(Protocol.MAX_PATH), true))
          .satisfies(e -> hasKind(e, GuestException.Kind.INVALID_PATH));
      assertThatThrownBy(() -> guestFiles.stat("/\ud800", true))
          .satisfies(e -> hasKind(e, GuestException.Kind.INVALID_PATH));

      GuestFiles confined =
          fixture.channel().files(new FileRoots(List.of(files.toString())), GuestUser.ROOT);
      Files.createSymbolicLink(files.resolve("escape"), outside);
      Files.createFile(outside.resolve("secret"));
      assertThatThrownBy(() -> confined.stat(files.resolve("escape/secret").toString(), true))
          .satisfies(e -> hasKind(e, GuestException.Kind.OUTSIDE_ROOTS));

      // An abandoned write leaves nothing.
      try (GuestFiles.GuestFileSink sink =
          guestFiles.write(missing, OptionalInt.empty(), false, false)) {
        sink.content().write(new byte[100_000]);
      }
      awaitUntil(() -> names(files).stream().noneMatch(name -> name.startsWith(".hopx-")));
      assertThat(Path.of(missing)).doesNotExist();

      // A write that cannot succeed says why, in the middle or at its end.
      assertThatThrownBy(
              () -> {
                try (GuestFiles.GuestFileSink sink =
                    guestFiles.write("/proc/sys/x", OptionalInt.empty(), false, false)) {
                  byte[] piece = new byte[65_536];
                  for (int i = 0; i < 100; i++) {
                    sink.content().write(piece);
                  }
                  sink.commit();
                }
              })
          .satisfies(
              e ->
                  assertThat(e instanceof IOException ? e.getCause() : e)
                      .isInstanceOf(GuestException.class)
                      .hasMessageContaining("/proc/sys/x"));
      assertThat(fixture.channel().liveStreams()).isZero();
      assertThat(guest.pid()).isPositive();
    } finally {
      Files.deleteIfExists(outside.resolve("secret"));
      Files.delete(outside);
    }
  }

  private static List<String> names(Path directory) {
    try (var entries = Files.list(directory)) {
      return entries.map(entry -> entry.getFileName().toString()).toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void awaitUntil(java.util.function.BooleanSupplier condition)
      throws InterruptedException {
    long deadline = System.nanoTime() + SOON.toNanos();
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).isLessThan(deadline);
      Thread.sleep(10);
    }
  }

  @Test
  void aLargeFileReadsBackAsItWasWritten() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT, pid -> true);
        RealGuest guest = RealGuest.dial(fixture.socket())) {
      fixture.channel().awaitConnected(SOON);
      String path = files.resolve("large").toString();
      String written;
      try (GuestFiles.GuestFileSink sink =
          files(fixture).write(path, OptionalInt.empty(), false, false)) {
        written = noise(sink.content(), HUNDRED_MEGABYTES / 4);
        assertThat(sink.commit().size()).isEqualTo(HUNDRED_MEGABYTES / 4);
      }
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      try (GuestFiles.GuestFileContent content =
          files(fixture).read(path, 0, OptionalLong.empty())) {
        byte[] piece = new byte[50_000];
        for (int count = content.content().read(piece);
            count >= 0;
            count = content.content().read(piece)) {
          digest.update(piece, 0, count);
        }
      }
      assertThat(HexFormat.of().formatHex(digest.digest())).isEqualTo(written);
      assertThat(Files.getPosixFilePermissions(Path.of(path)))
          .isEqualTo(PosixFilePermissions.fromString("rw-r--r--"));
      // Given up in the middle, nothing is left.
      files(fixture).read(path, 0, OptionalLong.empty()).close();
      assertThat(fixture.channel().liveStreams()).isZero();
      assertThat(fixture.channel().ping(SOON)).isPositive();
      assertThat(guest.pid()).isPositive();
    }
  }

  @Test
  void watches() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT, pid -> true);
        RealGuest guest = RealGuest.dial(fixture.socket())) {
      fixture.channel().awaitConnected(SOON);
      Path old = files.resolve("あ");
      Path renamed = files.resolve("b");
      try (GuestFiles.GuestWatch watch = files(fixture).watch(files.toString(), true)) {
        Files.createDirectory(old);
        assertThat(watch.take())
            .isEqualTo(
                new FileEvent(FileEvent.Kind.CREATED, true, old.toString(), Optional.empty()));
        Files.move(old, renamed);
        assertThat(watch.take())
            .isEqualTo(
                new FileEvent(
                    FileEvent.Kind.RENAMED, true, renamed.toString(), Optional.of(old.toString())));
        Files.delete(renamed);
        assertThat(watch.take().kind()).isEqualTo(FileEvent.Kind.DELETED);

        Thread waiting = Thread.currentThread();
        Thread.ofVirtual()
            .start(
                () -> {
                  while (waiting.getState() != Thread.State.WAITING) {
                    Thread.onSpinWait();
                  }
                  waiting.interrupt();
                });
        assertThatThrownBy(watch::take).isInstanceOf(InterruptedException.class);
      }
      assertThat(guest.pid()).isPositive();
    }
  }

  @Test
  void dials() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT, pid -> true);
        RealGuest guest = RealGuest.dial(fixture.socket());
        ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      fixture.channel().awaitConnected(SOON);
      CompletableFuture<String> served =
          fixture.async(
              () -> {
                try (Socket socket = server.accept()) {
                  String request = text(socket.getInputStream());
                  socket.getOutputStream().write("answer".getBytes(UTF_8));
                  return request;
                }
              });
      try (GuestConnection connection =
          fixture.channel().dial("127.0.0.1", server.getLocalPort())) {
        connection.output().write("question".getBytes(UTF_8));
        connection.output().close();
        assertThat(text(connection.input())).isEqualTo("answer");
        assertThat(served.get()).isEqualTo("question");
      }
      int port = unusedPort();
      assertThatThrownBy(() -> fixture.channel().dial("127.0.0.1", port))
          .satisfies(e -> hasKind(e, GuestException.Kind.UNREACHABLE))
          .hasMessageContaining("127.0.0.1:" + port);
      assertThat(guest.pid()).isPositive();
    }
  }

  private static int unusedPort() throws IOException {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return server.getLocalPort();
    }
  }

  @Test
  void aConnectionCutAgainAndAgainLosesNoByte() throws Exception {
    int length = 8_000_000;
    int cuts = 12;
    Path relayed = files.resolve("relay");
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT);
        RealGuest.Relay relay = new RealGuest.Relay(relayed, fixture.socket());
        RealGuest guest = RealGuest.dial(relayed)) {
      fixture.channel().awaitConnected(SOON);
      Spawn cat = kept(Spawn.of(List.of("cat"), ENVIRONMENT, "/").withStdin(), "cat");
      try (GuestProcess process = fixture.channel().start(cat)) {
        CompletableFuture<String> sent =
            fixture.async(
                () -> {
                  try (OutputStream stdin = process.stdin()) {
                    return noise(stdin, length);
                  }
                });
        CompletableFuture<String> received =
            fixture.async(
                () -> {
                  MessageDigest digest = MessageDigest.getInstance("SHA-256");
                  byte[] piece = new byte[33_333];
                  for (int count = process.stdout().read(piece);
                      count >= 0;
                      count = process.stdout().read(piece)) {
                    digest.update(piece, 0, count);
                  }
                  return HexFormat.of().formatHex(digest.digest());
                });
        for (int i = 1; i <= cuts; i++) {
          long next = (long) i * length / cuts;
          awaitUntil(() -> relay.passed() >= next || received.isDone());
          relay.cut();
        }
        assertThat(received.get()).isEqualTo(sent.get());
        assertThat(process.awaitExit().shellCode()).isZero();
      }
      assertThat(guest.pid()).isPositive();
    }
  }

  @Test
  void aSecondHostAdoptsWhatTheFirstLeft() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT, pid -> true);
        RealGuest guest = RealGuest.dial(fixture.socket())) {
      fixture.channel().awaitConnected(SOON);
      String boot = fixture.channel().bootId().orElseThrow();
      GuestProcess first =
          fixture
              .channel()
              .start(kept(shell("echo one; read x; echo $x; exit 5").withStdin(), "job-1"));
      GuestProcess foreground = fixture.channel().start(shell("sleep 1000"));
      assertThat(first.stdout().readNBytes(4)).isEqualTo("one\n".getBytes(UTF_8));
      FileStat stat = files(fixture).stat("/", true);
      assertThat(stat.kind()).isEqualTo(FileStat.Kind.DIRECTORY);

      fixture.restart();
      assertThatThrownBy(foreground::awaitExit)
          .satisfies(e -> hasKind(e, GuestException.Kind.LOST));
      fixture.channel().awaitConnected(SOON);

      assertThat(fixture.channel().bootId()).hasValue(boot);
      List<AdoptableProcess> left = fixture.channel().adoptable();
      assertThat(left).extracting(AdoptableProcess::tag).containsExactly("job-1", "");
      AdoptableProcess job = left.getFirst();
      assertThat(job.state()).isEqualTo(AdoptableProcess.State.RUNNING);
      assertThat(job.keep()).isTrue();
      assertThat(job.stdout().sent()).isEqualTo(4);
      fixture.channel().release(left.getLast());
      awaitUntil(() -> ProcessHandle.of(foreground.pid()).isEmpty());

      try (GuestProcess resumed = fixture.channel().resume(job, new NoHook())) {
        assertThat(resumed.pid()).isEqualTo(first.pid());
        resumed.stdin().write("two\n".getBytes(UTF_8));
        // Not confirmed as consumed by the first host: it comes again.
        assertThat(text(resumed.stdout())).isEqualTo("one\ntwo\n");
        assertThat(resumed.awaitExit().shellCode()).isEqualTo(5);
      }
      try (GuestProcess process = fixture.channel().start(shell("echo new"))) {
        assertThat(text(process.stdout())).isEqualTo("new\n");
      }
      assertThat(guest.pid()).isPositive();
    }
  }

  @Test
  void anExitedProcessCanBeAdoptedWithItsUnreadOutput() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT, pid -> true);
        RealGuest guest = RealGuest.dial(fixture.socket())) {
      fixture.channel().awaitConnected(SOON);
      GuestProcess first =
          fixture.channel().start(kept(shell("head -c 1000000 /dev/zero; exit 3"), "big"));
      assertThat(first.stdout().readNBytes(300_000)).hasSize(300_000);
      fixture.restart();
      fixture.channel().awaitConnected(SOON);
      AdoptableProcess left = fixture.channel().adoptable().getFirst();
      assertThat(left.stdout().consumed()).isPositive();
      try (GuestProcess resumed = fixture.channel().resume(left, new NoHook())) {
        ByteArrayOutputStream rest = new ByteArrayOutputStream();
        resumed.stdout().transferTo(rest);
        assertThat(left.stdout().consumed() + rest.size()).isEqualTo(1_000_000);
        assertThat(resumed.awaitExit().shellCode()).isEqualTo(3);
      }
      assertThat(guest.pid()).isPositive();
    }
  }

  /** An owner without control groups. */
  private static final class NoHook implements SpawnHook {
    @Override
    public void placed(int guestPid) {}

    @Override
    public void killTree() {}

    @Override
    public void released() {}
  }

  @Test
  void twoHundredProcessesDoNotCrossTheirOutput() throws Exception {
    try (ChannelFixture fixture = new ChannelFixture(ChannelFixture.PATIENT, pid -> true);
        RealGuest guest = RealGuest.dial(fixture.socket())) {
      fixture.channel().awaitConnected(SOON);
      List<CompletableFuture<String>> outputs = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        int number = i;
        outputs.add(
            fixture.async(
                () -> {
                  Spawn spawn = shell("read x; echo $x; echo " + number + " $x >&2").withStdin();
                  try (GuestProcess process = fixture.channel().start(spawn)) {
                    process.stdin().write(("in" + number + "\n").getBytes(UTF_8));
                    return text(process.stdout()) + text(process.stderr());
                  }
                }));
      }
      for (int i = 0; i < 200; i++) {
        assertThat(outputs.get(i).get()).isEqualTo("in%d\n%d in%d\n".formatted(i, i, i));
      }
      assertThat(fixture.channel().liveStreams()).isZero();
      assertThat(guest.pid()).isPositive();
    }
  }
}
