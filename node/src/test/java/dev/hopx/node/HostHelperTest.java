package dev.hopx.node;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hopx.node.HostHelperLab.Pair;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
final class HostHelperTest {
  /** MAX_RUNNING of hopx-host.c. */
  private static final int MAXIMUM_RUNNING = 256;

  private static final String PING =
      """
      import os, socket, struct, sys
      s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
      s.settimeout(5)
      head = struct.pack('!BBHHH', 8, 0, 0, 0, 1)
      s.sendto(struct.pack('!BBHHH', 8, 0, 0xffff - 0x0801, 0, 1), (sys.argv[1], 0))
      print('reply', s.recv(64)[0])
      """;

  private HostHelperLab lab;
  private HostHelper helper;

  @BeforeEach
  void start() {
    lab = new HostHelperLab();
    helper = lab.helper();
  }

  @AfterEach
  void stop() throws Exception {
    if (lab != null) {
      lab.close();
    }
  }

  @Test
  void pairBelongsToTheSandboxAndNotToTheHost() throws Exception {
    HostHelperLab.assumeTool("python3");
    Pair pair = lab.makePair();

    String owners =
        HostHelperLab.run(
            "python3",
            "-c",
            """
            import fcntl, os, struct, sys
            user, network = (os.open(p, os.O_RDONLY) for p in sys.argv[1:])
            uid = fcntl.ioctl(user, 0xb704, b'\\0' * 4)
            owner = fcntl.ioctl(network, 0xb701)
            print(struct.unpack('I', uid)[0], os.fstat(owner).st_ino == os.fstat(user).st_ino)
            """,
            pair.user().toString(),
            pair.network().toString());

    assertThat(owners).isEqualTo(pair.idBase() + " True");
    assertThat(
            HostHelperLab.run(
                HostHelperLab.inside(pair, "cat", "/proc/self/uid_map", "/proc/self/gid_map")))
        .matches("\\s*0 +%1$d +65536\\s+0 +%1$d +65536".formatted(pair.idBase()));
  }

  @Test
  void rootInsideBindsPort80PingsAndHasOnlyLoopback() throws Exception {
    HostHelperLab.assumeTool("python3");
    Pair pair = lab.makePair();

    assertThat(
            HostHelperLab.run(
                HostHelperLab.inside(
                    pair,
                    "python3",
                    "-c",
                    "import socket; socket.socket().bind(('127.0.0.1', 80)); print('bound')")))
        .isEqualTo("bound");
    assertThat(HostHelperLab.run(HostHelperLab.inside(pair, "python3", "-c", PING, "127.0.0.1")))
        .isEqualTo("reply 0");
    assertThat(
            HostHelperLab.run(
                HostHelperLab.inside(
                    pair, "python3", "-c", "import socket; print(socket.if_nameindex())")))
        .isEqualTo("[(1, 'lo')]");
    assertThat(
            HostHelperLab.run(
                HostHelperLab.inside(pair, "cat", "/proc/sys/net/ipv4/ping_group_range")))
        .matches("0\\s+65535");
    Path ipv6 = Path.of("/proc/sys/net/ipv6/conf/all/disable_ipv6");
    if (Files.exists(ipv6)) {
      assertThat(HostHelperLab.run(HostHelperLab.inside(pair, "cat", ipv6.toString())))
          .isEqualTo("1");
    }
  }

  @Test
  void inotifyInstancesOfOneSandboxAreNotTakenFromAnotherOrTheHost() throws Exception {
    HostHelperLab.assumeTool("python3");
    Pair greedy = lab.makePair();
    Pair neighbour = lab.makePair();
    // Not readString: it begins with one byte, after which a kernel parameter says end of file.
    int limit =
        Integer.parseInt(
            Files.readAllLines(Path.of("/proc/sys/fs/inotify/max_user_instances")).getFirst());
    String take =
        """
        import ctypes, resource, sys
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        libc = ctypes.CDLL(None, use_errno=True)
        taken = 0
        while taken <= int(sys.argv[1]) and libc.inotify_init1(0) >= 0:
            taken += 1
        print(taken, flush=True)
        sys.stdin.read()
        """;

    Process hog =
        new ProcessBuilder(
                HostHelperLab.inside(greedy, "python3", "-c", take, Integer.toString(limit)))
            .start();
    try (BufferedReader output = hog.inputReader(UTF_8)) {
      assertThat(output.readLine()).isEqualTo(Integer.toString(limit));

      String one = "import ctypes; print(ctypes.CDLL(None).inotify_init1(0) >= 0)";
      assertThat(HostHelperLab.run(HostHelperLab.inside(greedy, "python3", "-c", one)))
          .as("the limit holds for the one who reached it")
          .isEqualTo("False");
      assertThat(HostHelperLab.run(HostHelperLab.inside(neighbour, "python3", "-c", one)))
          .isEqualTo("True");
      assertThat(HostHelperLab.run("python3", "-c", one)).isEqualTo("True");
    } finally {
      hog.destroyForcibly().waitFor();
    }
  }

  @Test
  void linkReachesBothWays() throws Exception {
    HostHelperLab.assumeTool("python3");
    Pair pair = lab.makeLinkedPair();
    Veth veth = pair.veth();
    String listen =
        """
        import socket
        s = socket.create_server(('0.0.0.0', 80))
        print('ready', flush=True)
        c, peer = s.accept()
        c.sendall(('hello ' + peer[0]).encode())
        """;

    Process listener =
        new ProcessBuilder(HostHelperLab.inside(pair, "python3", "-c", listen)).start();
    try (BufferedReader output = listener.inputReader(UTF_8);
        Socket socket = new Socket()) {
      assertThat(output.readLine()).isEqualTo("ready");
      socket.connect(new InetSocketAddress(veth.guestAddress(), 80), 5_000);
      socket.setSoTimeout(5_000);
      assertThat(new String(socket.getInputStream().readAllBytes(), UTF_8))
          .isEqualTo("hello " + veth.gateway());
    } finally {
      listener.destroyForcibly().waitFor();
    }

    try (ServerSocket server = new ServerSocket()) {
      server.bind(new InetSocketAddress(veth.gateway(), 0));
      server.setSoTimeout(5_000);
      String connect =
          "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)";
      HostHelperLab.run(
          HostHelperLab.inside(
              pair,
              "python3",
              "-c",
              connect,
              veth.gateway(),
              Integer.toString(server.getLocalPort())));
      try (Socket accepted = server.accept()) {
        assertThat(accepted.getInetAddress().getHostAddress()).isEqualTo(veth.guestAddress());
      }
    }
    assertThat(HostHelperLab.run(HostHelperLab.inside(pair, "python3", "-c", PING, veth.gateway())))
        .isEqualTo("reply 0");
  }

  @Test
  void hostEndIsStrictAndHasItsMtu() throws Exception {
    Pair pair = lab.makeLinkedPair();
    String name = pair.veth().hostName();

    assertThat(Path.of("/sys/class/net", name, "mtu")).hasContent("1400\n");
    assertThat(Path.of("/proc/sys/net/ipv4/conf", name, "rp_filter")).hasContent("1\n");
    assertThat(Path.of("/proc/sys/net/ipv4/conf", name, "proxy_arp")).hasContent("0\n");
    assertThat(Path.of("/proc/sys/net/ipv4/conf", name, "arp_ignore")).hasContent("1\n");
    Path ipv6 = Path.of("/proc/sys/net/ipv6/conf", name, "disable_ipv6");
    if (Files.exists(ipv6)) {
      assertThat(ipv6).hasContent("1\n");
    }
    assertThat(HostHelperLab.run(HostHelperLab.inside(pair, "cat", "/proc/net/dev")))
        .contains("eth0:");

    helper.removeLink(name);
    helper.removeLink(name);
    assertThat(HostHelperLab.linkExists(name)).isFalse();
  }

  @Test
  void failureHalfWayLeavesNothing() throws Exception {
    Pair first = lab.makeLinkedPair();
    Pair second = lab.pair();
    List<String> mounts = lab.mounts();
    List<String> files = lab.files();

    // The name is taken: fails at the link, which is not the failed one's to remove.
    assertThatThrownBy(
            () ->
                helper.createNamespaces(
                    second.user(),
                    second.network(),
                    second.idBase(),
                    HostHelperLab.IDS,
                    first.veth()))
        .isInstanceOf(NodeException.class)
        .hasMessageContaining("create veth")
        .hasMessageContaining(first.veth().hostName())
        .hasMessageContaining("exists");
    assertThat(HostHelperLab.linkExists(first.veth().hostName())).isTrue();
    // The address is refused only after the link was made.
    Veth impossible = new Veth(second.veth().hostName(), "300.0.0.1", "169.254.1.1", 1400);
    assertThatThrownBy(
            () ->
                helper.createNamespaces(
                    second.user(),
                    second.network(),
                    second.idBase(),
                    HostHelperLab.IDS,
                    impossible))
        .isInstanceOf(NodeException.class)
        .hasMessageContaining("300.0.0.1");
    assertThat(HostHelperLab.linkExists(impossible.hostName())).isFalse();
    // The second pin cannot be made.
    assertThatThrownBy(
            () ->
                helper.createNamespaces(
                    second.user(),
                    lab.directory().resolve("missing/pin"),
                    second.idBase(),
                    HostHelperLab.IDS))
        .isInstanceOf(NodeException.class)
        .hasMessageContaining("missing/pin")
        .hasMessageContaining("No such file");

    assertThat(lab.mounts()).isEqualTo(mounts);
    assertThat(lab.files()).isEqualTo(files);
    awaitNoChildren();
  }

  @Test
  void existingPinIsNotTakenOver() throws Exception {
    Pair pair = lab.makePair();
    String before = HostHelperLab.run("stat", "-c", "%i", pair.user().toString());
    Pair other = lab.pair();

    assertThatThrownBy(
            () ->
                helper.createNamespaces(
                    pair.user(), other.network(), other.idBase(), HostHelperLab.IDS))
        .isInstanceOf(NodeException.class)
        .hasMessageContaining("File exists");

    assertThat(HostHelperLab.run("stat", "-c", "%i", pair.user().toString())).isEqualTo(before);
    assertThat(other.network()).doesNotExist();
  }

  @Test
  void idRangesStayWithinTheHostsAndNeverHoldRoot() {
    Pair pair = lab.pair();
    for (long base : new long[] {0, 2_147_483_648L, 2_147_483_647L - 65_534L}) {
      assertThatThrownBy(
              () -> helper.createNamespaces(pair.user(), pair.network(), base, HostHelperLab.IDS))
          .isInstanceOf(NodeException.class)
          .hasMessageContaining("id range");
    }
    helper.createNamespaces(
        pair.user(), pair.network(), 2_147_483_647L - 65_535L, HostHelperLab.IDS);
  }

  @Test
  void idmappedMountShowsTheSandboxsIdsAndIsReadOnly() throws Exception {
    Pair pair = lab.makePair();
    Path source = lab.makeDirectory("source");
    Path target = lab.makeDirectory("target");
    Files.writeString(source.resolve("file"), "content");
    helper.changeOwner(source.resolve("file"), 1000, 1001);

    helper.idmap(source, target, pair.user());

    assertThat(owner(target)).isEqualTo(pair.idBase());
    assertThat(owner(target.resolve("file"))).isEqualTo(pair.idBase() + 1000);
    assertThat(Files.getAttribute(target.resolve("file"), "unix:gid"))
        .isEqualTo((int) (pair.idBase() + 1001));
    assertThat(owner(source.resolve("file"))).isEqualTo(1000);
    assertThatThrownBy(() -> Files.writeString(target.resolve("new"), "x"))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("Read-only");

    helper.unmount(target);
    helper.unmount(target);
    assertThat(target.resolve("file")).doesNotExist();
  }

  @Test
  void fileSystemWithoutIdmappedMountsIsSaidSo() throws Exception {
    Pair pair = lab.makePair();
    Path target = lab.makeDirectory("target");

    assertThatThrownBy(() -> helper.idmap(Path.of("/proc"), target, pair.user()))
        .isInstanceOf(NodeException.class)
        .hasMessageContaining("map ids")
        .hasMessageContaining("/proc")
        .hasMessageContaining("file system");
    assertThat(lab.mounts()).noneMatch(line -> line.contains("/target "));
  }

  @Test
  void overlayTakesWritesWithTheSandboxsIdsAndShowsNoHostPath() throws Exception {
    Pair pair = lab.makePair();
    long root = pair.idBase();
    Path template = lab.makeDirectory("template");
    Files.writeString(template.resolve("kept"), "template");
    Path home = lab.makeDirectory("sandbox");
    helper.makeDirectory(home.resolve("lower"), 0755, 0, 0);
    helper.makeDirectory(home.resolve("upper"), 0755, root, root);
    helper.makeDirectory(home.resolve("work"), 0700, root, root);
    helper.makeDirectory(home.resolve("merged"), 0755, root, root);
    helper.idmap(template, home.resolve("lower"), pair.user());

    helper.overlay(home, "lower", "upper", "work", "merged");

    Path merged = home.resolve("merged");
    HostHelperLab.run(
        HostHelperLab.inside(
            pair,
            "sh",
            "-c",
            "cd " + merged + " && echo changed > kept && echo new > made && chown 5:6 made"));
    assertThat(template.resolve("kept")).hasContent("template");
    assertThat(home.resolve("upper/kept")).hasContent("changed\n");
    assertThat(owner(home.resolve("upper/kept"))).isEqualTo(root);
    assertThat(owner(home.resolve("upper/made"))).isEqualTo(root + 5);
    assertThat(Files.readString(Path.of("/proc/self/mountinfo")))
        .contains("lowerdir=lower,upperdir=upper,workdir=work");
    assertThat(lab.mounts())
        .filteredOn(line -> line.contains("/merged "))
        .singleElement()
        .satisfies(
            line -> {
              assertThat(line).contains("nodev").doesNotContain("nosuid");
              assertThat(line.substring(line.indexOf(" - ")))
                  .doesNotContain(lab.directory().toString());
            });
  }

  @Test
  void overlayNamesCannotAddOptions() throws Exception {
    Path home = lab.makeDirectory("sandbox");
    for (String name : List.of("upper,metacopy=on", "up:per", "up\\per", "")) {
      assertThatThrownBy(() -> helper.overlay(home, "lower", name, "work", "merged"))
          .isInstanceOf(NodeException.class)
          .hasMessageContaining("overlay names");
    }
  }

  @Test
  void bindIsReadOnlyWhenAsked() throws Exception {
    Path source = lab.makeDirectory("source");
    Path readOnly = lab.makeDirectory("read-only");
    Path writable = lab.makeDirectory("writable");

    helper.bind(source, readOnly, true);
    helper.bind(source, writable, false);

    Files.writeString(writable.resolve("file"), "through");
    assertThat(readOnly.resolve("file")).hasContent("through");
    assertThatThrownBy(() -> Files.delete(readOnly.resolve("file")))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("Read-only");
    assertThat(lab.mounts()).hasSize(2).allMatch(line -> line.contains("nosuid,nodev"));

    // Two mounts on one point are taken away by one call.
    helper.bind(source, readOnly, true);
    helper.unmount(readOnly);
    assertThat(lab.mounts()).hasSize(1);
  }

  @Test
  void directoriesGetExactlyTheirModeAndOwner() throws Exception {
    Path made = lab.directory().resolve("made ü %\n x");

    helper.makeDirectory(made, 01777, 4_294_967_294L, 7);

    assertThat((int) Files.getAttribute(made, "unix:mode") & 07777).isEqualTo(01777);
    assertThat(Files.getAttribute(made, "unix:uid")).isEqualTo(-2);
    assertThat(Files.getAttribute(made, "unix:gid")).isEqualTo(7);
    assertThatThrownBy(() -> helper.makeDirectory(made, 0755, 0, 0))
        .isInstanceOf(NodeException.class)
        .hasMessageContaining("make directory")
        .hasMessageContaining("made ü %\n x")
        .hasMessageContaining("File exists");
    Path other = lab.directory().resolve("other");
    assertThatThrownBy(() -> helper.makeDirectory(other, 010000, 0, 0))
        .isInstanceOf(NodeException.class)
        .hasMessageContaining("mode");
    // The id -1 means "unchanged" to the kernel.
    assertThatThrownBy(() -> helper.makeDirectory(other, 0755, 4_294_967_295L, 0))
        .isInstanceOf(NodeException.class)
        .hasMessageContaining("owner");
    assertThat(other).doesNotExist();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> helper.makeDirectory(Path.of("relative"), 0755, 0, 0));
  }

  @Test
  void ownerOfALinkIsChangedAndNotThatOfItsTarget() throws Exception {
    Path file = Files.writeString(lab.directory().resolve("file"), "");
    Path link = Files.createSymbolicLink(lab.directory().resolve("link"), file);

    helper.changeOwner(link, 1234, 1234);

    assertThat(owner(file)).isZero();
    assertThat(Files.getAttribute(link, "unix:uid", LinkOption.NOFOLLOW_LINKS)).isEqualTo(1234);
  }

  @Test
  void treeIsRemovedWithoutFollowingItsLinks() throws Exception {
    Path outside = lab.makeDirectory("outside");
    Files.writeString(outside.resolve("precious"), "x");
    Path tree = lab.makeDirectory("tree");
    Files.createSymbolicLink(tree.resolve("directory-link"), outside);
    Files.createSymbolicLink(tree.resolve("file-link"), outside.resolve("precious"));
    Path closed = Files.createDirectories(tree.resolve("a/b/closed"));
    Files.writeString(closed.resolve("file"), "x");
    Files.setPosixFilePermissions(closed, PosixFilePermissions.fromString("---------"));

    helper.removeTree(tree);

    assertThat(tree).doesNotExist();
    assertThat(outside.resolve("precious")).exists();

    Path link = Files.createSymbolicLink(lab.directory().resolve("link"), outside);
    helper.removeTree(link);
    assertThat(Files.exists(link, LinkOption.NOFOLLOW_LINKS)).isFalse();
    assertThat(outside.resolve("precious")).exists();
    helper.removeTree(outside.resolve("precious"));
    assertThat(outside.resolve("precious")).doesNotExist();
    helper.removeTree(outside.resolve("precious"));
  }

  @Test
  void treeFarDeeperThanAPathCanBeIsRemoved() throws Exception {
    HostHelperLab.assumeTool("python3");
    Path tree = lab.makeDirectory("tree");
    // 2,000 levels of names of 255 bytes, and the names that the removal itself would use.
    HostHelperLab.run(
        "python3",
        "-c",
        """
        import os, sys
        os.chdir(sys.argv[1])
        for i in range(100):
            os.mkdir('.removed-%d' % i)
            open('.removed-%d/x' % i, 'w').close()
        for i in range(2000):
            os.mkdir('d' * 255)
            open('f' * 255, 'w').close()
            os.chdir('d' * 255)
        """,
        tree.toString());

    helper.removeTree(tree);

    assertThat(tree).doesNotExist();
  }

  @Test
  void mountInATreeStopsItsRemoval() throws Exception {
    Path precious = lab.makeDirectory("precious");
    Files.writeString(precious.resolve("file"), "x");
    Path point = Files.createDirectories(lab.directory().resolve("tree/a/point"));
    helper.bind(precious, point, false);

    assertThatThrownBy(() -> helper.removeTree(lab.directory().resolve("tree")))
        .isInstanceOf(NodeException.class)
        .hasMessageContaining("remove");
    assertThatThrownBy(() -> helper.removeTree(point)).isInstanceOf(NodeException.class);
    assertThat(precious.resolve("file")).exists();

    helper.unmount(point);
    helper.removeTree(lab.directory().resolve("tree"));
    assertThat(lab.directory().resolve("tree")).doesNotExist();
  }

  @Test
  void dangerousPathsAreNotRemoved() {
    for (String path : List.of("/", "/tmp/..", "/tmp/.", "/..")) {
      assertThatThrownBy(() -> helper.removeTree(Path.of(path)))
          .isInstanceOf(NodeException.class)
          .hasMessageContaining("path");
    }
  }

  @Test
  void onlyTheNodesKernelParametersAreSet() throws Exception {
    String present = Files.readAllLines(Path.of("/proc/sys/net/ipv4/ip_forward")).getFirst();
    helper.setKernelParameter("net/ipv4/ip_forward", present);
    for (String name : List.of("kernel/core_pattern", "net/ipv4/../../kernel/core_pattern", "")) {
      assertThatThrownBy(() -> helper.setKernelParameter(name, "x"))
          .isInstanceOf(NodeException.class)
          .hasMessageContaining("not one of the node's");
    }
  }

  @Test
  void overlappingPairsAreMadeAndUndoneWithoutALeak() throws Exception {
    List<String> files = lab.files();
    List<Future<?>> made = new ArrayList<>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < 50; i++) {
        made.add(
            threads.submit(
                () -> {
                  Pair pair = lab.makeLinkedPair();
                  assertThat(HostHelperLab.linkExists(pair.veth().hostName())).isTrue();
                  helper.removeLink(pair.veth().hostName());
                  helper.unpin(pair.network());
                  helper.unpin(pair.user());
                  assertThat(HostHelperLab.linkExists(pair.veth().hostName())).isFalse();
                }));
      }
      for (Future<?> one : made) {
        one.get(60, TimeUnit.SECONDS);
      }
    }

    assertThat(lab.mounts()).isEmpty();
    assertThat(lab.files()).isEqualTo(files);
    awaitNoChildren();
  }

  @Test
  void moreRequestsThanRunAtATimeWaitAndAreAllAnswered() throws Exception {
    HostHelperLab.assumeTool("mkfifo");
    // Opening a FIFO for reading blocks until a writer comes: a request that lasts as long as
    // wanted.
    Path fifo = lab.directory().resolve("fifo");
    HostHelperLab.run("mkfifo", fifo.toString());
    Path place = lab.makeDirectory("place");
    List<Future<?>> blocked = new ArrayList<>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < MAXIMUM_RUNNING + 10; i++) {
        blocked.add(threads.submit(() -> helper.idmap(place, place, fifo)));
      }
      await(
          () -> ProcessHandle.of(helper.pid()).orElseThrow().children().count() == MAXIMUM_RUNNING);
      Future<?> writer =
          threads.submit(
              () -> {
                try (OutputStream stream = Files.newOutputStream(fifo)) {
                  await(() -> blocked.stream().allMatch(Future::isDone));
                  stream.flush();
                }
                return 0;
              });
      for (Future<?> one : blocked) {
        assertThatThrownBy(() -> one.get(60, TimeUnit.SECONDS))
            .hasCauseInstanceOf(NodeException.class)
            .hasMessageContaining("map ids");
      }
      writer.get(60, TimeUnit.SECONDS);
    }
    awaitNoChildren();
  }

  @Test
  void helperThatDiesIsStartedAgainAndFailsOnlyWhatWasUnderWay() throws Exception {
    HostHelperLab.assumeTool("mkfifo");
    Path fifo = lab.directory().resolve("fifo");
    HostHelperLab.run("mkfifo", fifo.toString());
    Path place = lab.makeDirectory("place");
    long pid = helper.pid();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<?> blocked = threads.submit(() -> helper.idmap(place, place, fifo));
      await(() -> ProcessHandle.of(pid).orElseThrow().children().count() == 1);
      ProcessHandle request =
          ProcessHandle.of(pid).orElseThrow().children().findAny().orElseThrow();

      ProcessHandle.of(pid).orElseThrow().destroyForcibly();

      assertThatThrownBy(() -> blocked.get(10, TimeUnit.SECONDS))
          .hasCauseInstanceOf(NodeException.class)
          .hasMessageContaining("ended during idmap");
      await(() -> !request.isAlive());
    }

    helper.unmount(place);
    assertThat(helper.pid()).isNotEqualTo(pid);
  }

  @Test
  void requestThatCrashesIsAnsweredForIt() throws Exception {
    HostHelperLab.assumeTool("mkfifo");
    Path fifo = lab.directory().resolve("fifo");
    HostHelperLab.run("mkfifo", fifo.toString());
    Path place = lab.makeDirectory("place");
    ProcessHandle program = ProcessHandle.of(helper.pid()).orElseThrow();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<?> blocked = threads.submit(() -> helper.idmap(place, place, fifo));
      await(() -> program.children().count() == 1);

      program.children().forEach(ProcessHandle::destroyForcibly);

      assertThatThrownBy(() -> blocked.get(10, TimeUnit.SECONDS))
          .hasCauseInstanceOf(NodeException.class)
          .hasMessageContaining("No child process");
    }
    assertThat(helper.pid()).isEqualTo(program.pid());
  }

  @Test
  void closedHelperRefusesAndItsProgramIsGone() {
    long pid = helper.pid();
    HostHelper other = HostHelper.start(lab.binaries().host());
    long otherPid = other.pid();

    other.close();
    other.close();

    assertThat(ProcessHandle.of(otherPid).map(ProcessHandle::isAlive).orElse(false)).isFalse();
    assertThatThrownBy(() -> other.unmount(Path.of("/nowhere")))
        .isInstanceOf(NodeException.class)
        .hasMessageContaining("closed");
    assertThat(ProcessHandle.of(pid)).isPresent();
  }

  @Test
  void missingProgramIsNamed() {
    assertThatThrownBy(() -> HostHelper.start(Path.of("/nowhere/hopx-host")))
        .isInstanceOf(NodeException.class)
        .hasMessageContaining("/nowhere/hopx-host");
  }

  @Test
  void requestOfTheLargestSizeIsTakenAndALargerOneRefusedBeforeItIsSent() {
    try (HostHelperProcess process = HostHelperProcess.start(lab.binaries().host())) {
      // "0 unmount /" and the line end.
      int room = HostHelperProcess.MAXIMUM_REQUEST - "0 unmount /".length() - 1;
      assertThat(process.call(List.of("unmount", "/" + "x".repeat(room))).text())
          .contains("name too long");
      assertThatThrownBy(() -> process.call(List.of("unmount", "/" + "x".repeat(room + 1))))
          .isInstanceOf(NodeException.class)
          .hasMessageContaining("shorter paths");
      assertThat(process.call(List.of("unmount", "/nowhere")).status()).isEqualTo("ok");
      assertThat(process.call(List.of("bogus", "x")).text()).contains("not implemented");
      assertThat(process.call(List.of("mkdir", "/x", "08x", "0", "0")).step())
          .isEqualTo("read number");
      assertThat(process.call(List.of("unmount")).step()).isEqualTo("take arguments");
      assertThat(
              process.call(List.of("unmount", "1", "2", "3", "4", "5", "6", "7", "8", "9")).step())
          .isEqualTo("take arguments");
    }
  }

  @Test
  void wordsSurviveTheirEncoding() {
    for (String word : List.of("", "%", "a b", "/ü/あ\n\t%41", "plain-._:/09AZ")) {
      assertThat(HostHelperProcess.decode(HostHelperProcess.encode(word))).isEqualTo(word);
      assertThat(HostHelperProcess.encode(word)).matches("[A-Za-z0-9/._:%-]+");
    }
  }

  private static long owner(Path path) throws IOException {
    return Integer.toUnsignedLong((int) Files.getAttribute(path, "unix:uid"));
  }

  private void awaitNoChildren() throws InterruptedException {
    await(() -> ProcessHandle.of(helper.pid()).orElseThrow().children().findAny().isEmpty());
  }

  private interface Condition {
    boolean holds();
  }

  private static void await(Condition condition) throws InterruptedException {
    long end = System.nanoTime() + Duration.ofSeconds(30).toNanos();
    while (!condition.holds()) {
      assertThat(System.nanoTime()).as("waited too long").isLessThan(end);
      Thread.sleep(5);
    }
  }
}
