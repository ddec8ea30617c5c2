package dev.hopx.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.hopx.node.HostHelperLab.Pair;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.json.JsonMapper;

/**
 * The filter in a real container: the host's own programs, mounted read-only, in a user and network
 * namespace pair as a sandbox has it, as root inside. Each call is told by the errno it gets; a run
 * without the filter shows which of them only the filter stops.
 */
@Timeout(60)
final class SeccompFilterTest {
  private static final List<String> HOST_DIRECTORIES =
      List.of("/usr", "/bin", "/lib", "/lib64", "/sbin");

  /** Prints "name errno" for each call; a call that works has the errno 0. */
  private static final String PROBE =
      """
      import ctypes, errno, fcntl, mmap, os, platform, socket, subprocess, sys, threading
      libc = ctypes.CDLL(None, use_errno=True)
      libc.syscall.restype = ctypes.c_long
      arm = platform.machine() == 'aarch64'

      def report(name, error):
          print(name, error, flush=True)

      def call(name, x86, arm64, *arguments):
          ctypes.set_errno(0)
          words = [ctypes.c_ulong(a & (1 << 64) - 1) for a in arguments]
          result = libc.syscall(ctypes.c_long(arm64 if arm else x86), *words)
          error = ctypes.get_errno() if result == -1 else 0
          report(name, error)

      def attempt(name, what):
          try:
              what()
              report(name, 0)
          except OSError as e:
              report(name, e.errno)

      def in_child(name, what):
          child = os.fork()
          if child == 0:
              what()
              os._exit(0)
          os.waitpid(child, 0)

      NEW_USER = 0x10000000
      in_child('unshare', lambda: call('unshare-user', 272, 97, NEW_USER))
      def clone(name, flags):
          ctypes.set_errno(0)
          child = libc.syscall(ctypes.c_long(220 if arm else 56), ctypes.c_ulong(flags | 17), 0, 0, 0, 0)
          if child == 0:
              os._exit(0)
          if child > 0:
              os.waitpid(child, 0)
          report(name, ctypes.get_errno() if child == -1 else 0)
      clone('clone-user', NEW_USER)
      clone('clone-mount', 0x20000)
      clone('clone-cgroup', 0x02000000)
      clone('clone-plain', 0)
      call('clone3', 435, 435, 0, 0)
      user = os.open('/proc/self/ns/net', os.O_RDONLY)
      call('setns', 308, 268, user, 0)
      call('mount', 165, 40, 0, 0, 0, 0, 0)
      call('umount2', 166, 39, 0, 0)
      call('pivot_root', 155, 41, 0, 0)
      call('open_tree', 428, 428, -1, 0, 1)
      call('move_mount', 429, 429, -1, 0, -1, 0, 0)
      call('fsopen', 430, 430, 0, 0)
      call('mount_setattr', 442, 442, -1, 0, 0, 0, 0)
      call('bpf', 321, 280, 0, 0, 0)
      call('keyctl', 250, 219, 0, -3, 1)
      call('add_key', 248, 217, 0, 0, 0, 0, 0)
      call('request_key', 249, 218, 0, 0, 0, 0)
      call('io_uring_setup', 425, 425, 1, 0)
      call('io_uring_enter', 426, 426, -1, 0, 0, 0, 0, 0)
      call('userfaultfd', 323, 282, 1)
      call('perf_event_open', 298, 241, 0, 0, -1, -1, 0)
      call('open_by_handle_at', 304, 265, -1, 0, 0)
      call('kexec_load', 246, 104, 0, 0, 0, 0)
      call('init_module', 175, 105, 0, 0, 0)
      call('swapon', 167, 224, 0, 0)
      call('reboot', 169, 142, 0, 0, 0, 0)
      call('acct', 163, 89, 0)
      call('quotactl', 179, 60, 0, 0, 0, 0)
      call('syslog', 103, 116, 10, 0, 0)
      call('fanotify_init', 300, 262, 0, 0)
      call('clock_settime', 227, 112, 0, 0)
      call('settimeofday', 164, 170, 0, 0)
      call('sethostname', 170, 161, 0, 0)
      call('kcmp', 312, 272, os.getpid(), os.getpid(), 0, 0, 0)
      call('personality-query', 135, 92, 0xffffffff)
      call('personality-linux', 135, 92, 0)
      call('personality-no-randomize', 135, 92, 0x0040000)
      call('unknown', 1000, 1000)
      call('far-unknown', 5000, 5000)
      def open_socket(name, family, kind, protocol):
          attempt(name, lambda: socket.socket(family, kind, protocol).close())
      open_socket('socket-unix', 1, 1, 0)
      open_socket('socket-internet', 2, 1, 0)
      open_socket('socket-internet-6', 10, 1, 0)
      open_socket('socket-packet', 17, 3, 0)
      open_socket('socket-vsock', 40, 1, 0)
      open_socket('socket-crypto', 38, 5, 0)
      open_socket('socket-key', 15, 3, 2)
      open_socket('netlink-route', 16, 3, 0)
      open_socket('netlink-audit', 16, 3, 9)
      open_socket('netlink-netfilter', 16, 3, 12)
      open_socket('netlink-generic', 16, 3, 16)
      attempt('socketpair-unix', lambda: socket.socketpair())
      attempt('socketpair-tipc', lambda: socket.socketpair(30, 1, 0))
      master, slave = os.openpty()
      attempt('ioctl-size', lambda: fcntl.ioctl(slave, 0x5413, b'0' * 8))
      attempt('ioctl-stuff-input', lambda: fcntl.ioctl(slave, 0x5412, b'x'))
      attempt('ioctl-console', lambda: fcntl.ioctl(slave, 0x541C, b'x'))
      attempt('ioctl-discipline', lambda: fcntl.ioctl(slave, 0x5423, b'0' * 4))
      # Above 32 bits the kernel does not look at the number, so the filter must not either.
      call('ioctl-stuff-input-high', 16, 29, slave, 0x100005412, 0)
      call('ioctl-stuff-input-32', 16, 29, slave, 0x5412, 0)
      in_child('ptrace', lambda: call('ptrace-me', 101, 117, 0, 0, 0, 0))
      def threads():
          one = threading.Thread(target=lambda: report('thread', 0))
          one.start()
          one.join()
      threads()
      attempt('subprocess', lambda: subprocess.run(['/bin/true'], check=True))
      attempt('memory', lambda: mmap.mmap(-1, 1 << 20).close())
      call('membarrier', 324, 283, 0, 0)
      if not arm:
          call('x32-getpid', 0x40000000 | 39, 0)
          code = mmap.mmap(-1, 4096, prot=7)
          # mov eax, 20 (getpid of i386); int 0x80; ret
          code.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]))
          address = ctypes.addressof(ctypes.c_char.from_buffer(code))
          result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
          report('i386-getpid', -result if result < 0 else 0)
      for line in open('/proc/self/status'):
          if line.startswith(('Seccomp:', 'NoNewPrivs:')):
              print(line.split(':')[0], line.split()[1])
      """;

  private static final int EPERM = 1;
  private static final int EINVAL = 22;
  private static final int ENOSYS = 38;
  private static final int EPROTONOSUPPORT = 93;
  private static final int EOPNOTSUPP = 95;
  private static final int EAFNOSUPPORT = 97;

  private static final Set<String> REFUSED =
      Set.of(
          "unshare-user",
          "clone-user",
          "clone-mount",
          "clone-cgroup",
          "setns",
          "mount",
          "umount2",
          "pivot_root",
          "open_tree",
          "move_mount",
          "fsopen",
          "mount_setattr",
          "bpf",
          "keyctl",
          "add_key",
          "request_key",
          "io_uring_setup",
          "io_uring_enter",
          "userfaultfd",
          "perf_event_open",
          "open_by_handle_at",
          "kexec_load",
          "init_module",
          "swapon",
          "reboot",
          "acct",
          "quotactl",
          "syslog",
          "fanotify_init",
          "clock_settime",
          "settimeofday",
          "sethostname",
          "kcmp",
          "personality-no-randomize",
          "socket-packet",
          "ioctl-stuff-input",
          "ioctl-console",
          "ioctl-discipline",
          "ioctl-stuff-input-high",
          "ioctl-stuff-input-32");

  private static final Set<String> WORKING =
      Set.of(
          "clone-plain",
          "personality-query",
          "personality-linux",
          "socket-unix",
          "socket-internet",
          "socket-internet-6",
          "netlink-route",
          "socketpair-unix",
          "ioctl-size",
          "ptrace-me",
          "thread",
          "subprocess",
          "memory",
          "membarrier");

  private HostHelperLab lab;
  private Path state;
  private String id;

  @BeforeEach
  void start() throws IOException {
    lab = new HostHelperLab();
    HostHelperLab.assumeTool("crun");
    assumeTrue(
        Files.isExecutable(Path.of("/usr/bin/python3")),
        "SKIPPED, NOT PASSED: this test needs /usr/bin/python3; install python3");
    state = lab.makeDirectory("crun");
    id = "hopx-seccomp-" + ProcessHandle.current().pid();
  }

  @AfterEach
  void stop() throws IOException, InterruptedException {
    if (lab == null) {
      return;
    }
    try {
      if (state != null) {
        HostHelperLab.run(crun("delete", "--force", id));
      }
    } finally {
      lab.close();
    }
  }

  @Test
  void refusesWhatLeadsOutAndAllowsWhatProgramsNeed() throws Exception {
    Map<String, Integer> errors = probe(true);

    assertThat(errors).containsEntry("Seccomp", 2).containsEntry("NoNewPrivs", 1);
    assertThat(errors.entrySet().stream().filter(one -> REFUSED.contains(one.getKey())))
        .hasSameSizeAs(REFUSED)
        .allSatisfy(one -> assertThat(one.getValue()).as(one.getKey()).isEqualTo(EPERM));
    assertThat(errors.entrySet().stream().filter(one -> WORKING.contains(one.getKey())))
        .hasSameSizeAs(WORKING)
        .allSatisfy(one -> assertThat(one.getValue()).as(one.getKey()).isZero());
    assertThat(errors)
        .containsEntry("clone3", ENOSYS)
        .containsEntry("unknown", ENOSYS)
        .containsEntry("far-unknown", ENOSYS)
        .containsEntry("socket-vsock", EAFNOSUPPORT)
        .containsEntry("socket-crypto", EAFNOSUPPORT)
        .containsEntry("socket-key", EAFNOSUPPORT)
        .containsEntry("netlink-audit", EINVAL)
        .containsEntry("netlink-netfilter", EPROTONOSUPPORT)
        .containsEntry("netlink-generic", EPROTONOSUPPORT)
        .containsEntry("socketpair-tipc", EOPNOTSUPP);
    if (System.getProperty("os.arch").equals("amd64")) {
      assertThat(errors).containsEntry("x32-getpid", ENOSYS).containsEntry("i386-getpid", ENOSYS);
    }
  }

  /** Without this the test above could pass by the kernel's own refusals. */
  @Test
  void withoutTheFilterTheSameCallsWork() throws Exception {
    Map<String, Integer> errors = probe(false);

    assertThat(errors)
        .containsEntry("Seccomp", 0)
        .containsEntry("unshare-user", 0)
        .containsEntry("clone-user", 0)
        .containsEntry("setns", EPERM)
        .containsEntry("keyctl", 0)
        .containsEntry("kcmp", 0)
        .containsEntry("clone3", EINVAL)
        .containsEntry("personality-no-randomize", 0)
        .containsEntry("netlink-generic", 0);
    assertThat(errors.get("userfaultfd")).isNotEqualTo(ENOSYS);
  }

  private Map<String, Integer> probe(boolean filtered) throws IOException, InterruptedException {
    Pair pair = lab.makePair();
    Path bundle = lab.makeDirectory("bundle");
    writeBundle(bundle, pair, filtered);
    String output = HostHelperLab.run(crun("run", "--bundle", bundle.toString(), id));
    Map<String, Integer> errors = new LinkedHashMap<>();
    for (String line : output.lines().toList()) {
      String[] words = line.split(" ", -1);
      assertThat(words).as(output).hasSize(2);
      errors.put(words[0], Integer.valueOf(words[1]));
    }
    return errors;
  }

  /**
   * Without control groups: how they are set up on this host is not the matter here, but crun
   * starts nothing where it sees the hybrid layout.
   */
  private List<String> crun(String... arguments) {
    List<String> line =
        new ArrayList<>(
            List.of(
                "unshare",
                "--mount",
                "--propagation",
                "private",
                "sh",
                "-c",
                "! mountpoint -q /sys/fs/cgroup/unified || umount /sys/fs/cgroup/unified;"
                    + " exec crun \"$@\"",
                "crun",
                "--root",
                state.toString(),
                "--cgroup-manager=disabled"));
    line.addAll(List.of(arguments));
    return line;
  }

  private void writeBundle(Path bundle, Pair pair, boolean filtered) throws IOException {
    Path root = bundle.resolve("root");
    lab.helper().makeDirectory(root, 0755, pair.idBase(), pair.idBase());
    List<Map<String, Object>> mounts = new ArrayList<>();
    for (String directory : HOST_DIRECTORIES) {
      Path path = Path.of(directory);
      if (Files.isSymbolicLink(path)) {
        Files.createSymbolicLink(
            root.resolve(directory.substring(1)), Files.readSymbolicLink(path));
      } else if (Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
        mounts.add(mount(directory, "bind", directory, "bind", "ro", "nosuid", "nodev"));
      }
    }
    mounts.add(mount("/proc", "proc", "proc", "nosuid", "noexec", "nodev"));
    mounts.add(mount("/dev", "tmpfs", "tmpfs", "nosuid", "mode=755"));
    mounts.add(mount("/dev/pts", "devpts", "devpts", "newinstance", "ptmxmode=0666"));
    List<Map<String, Object>> namespaces = new ArrayList<>();
    for (String kind : List.of("pid", "ipc", "uts", "mount")) {
      namespaces.add(Map.of("type", kind));
    }
    namespaces.add(Map.of("type", "user", "path", pair.user().toString()));
    namespaces.add(Map.of("type", "network", "path", pair.network().toString()));
    List<Map<String, Object>> ids =
        List.of(Map.of("containerID", 0, "hostID", pair.idBase(), "size", HostHelperLab.IDS));
    byte[] filter = Files.readAllBytes(lab.binaries().seccompFilter());
    Map<String, Object> configuration =
        Map.of(
            "ociVersion",
            "1.0.2",
            "process",
            Map.of(
                "user", Map.of("uid", 0, "gid", 0),
                "args", List.of("/usr/bin/python3", "-c", PROBE),
                "env", List.of("PATH=/usr/bin:/bin"),
                "cwd", "/",
                "noNewPrivileges", true),
            "root",
            Map.of("path", root.toString()),
            "mounts",
            mounts,
            "linux",
            Map.of("namespaces", namespaces, "uidMappings", ids, "gidMappings", ids),
            "annotations",
            filtered
                ? Map.of("run.oci.seccomp_bpf_data", Base64.getEncoder().encodeToString(filter))
                : Map.of());
    Files.write(bundle.resolve("config.json"), new JsonMapper().writeValueAsBytes(configuration));
  }

  private static Map<String, Object> mount(
      String destination, String type, String source, String... options) {
    return Map.of(
        "destination", destination, "type", type, "source", source, "options", List.of(options));
  }

  /** Each name belongs to one expectation, or a typing error would hide a missing check. */
  @Test
  void expectationsDoNotOverlap() {
    assertThat(REFUSED.stream().filter(WORKING::contains).collect(Collectors.toSet())).isEmpty();
    assertThat(REFUSED).allSatisfy(name -> assertThat(PROBE).contains("'" + name + "'"));
    assertThat(WORKING).allSatisfy(name -> assertThat(PROBE).contains("'" + name + "'"));
  }
}
