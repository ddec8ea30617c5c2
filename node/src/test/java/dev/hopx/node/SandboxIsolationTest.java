package dev.hopx.node;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What code inside sees of the wall around it. */
final class SandboxIsolationTest {
  private static @Nullable NodeLab lab;
  private static @Nullable Sandbox shared;

  @BeforeAll
  static void create() {
    lab = new NodeLab();
    shared = lab.create();
  }

  @AfterAll
  static void delete() {
    if (lab != null) {
      lab.close();
    }
  }

  private static NodeLab lab() {
    return requireNonNull(lab);
  }

  private static LocalSandbox sandbox() {
    return (LocalSandbox) requireNonNull(shared);
  }

  private static String output(String script) {
    NodeLab.Result result = NodeLab.sh(sandbox(), script);
    assertThat(result.status()).as("%s: %s", script, result.output()).isZero();
    return result.output();
  }

  @Test
  void rootInsideIsNobodyOutside() throws Exception {
    assertThat(output("cat /proc/self/uid_map").strip().split("\\s+"))
        .containsExactly(
            "0", Long.toString(sandbox().slot().ids().base()), Integer.toString(IdRange.SIZE));
    Path status = Path.of("/proc/" + sandbox().init().pid() + "/status");
    String base = Long.toString(sandbox().slot().ids().base());
    assertThat(Files.readAllLines(status))
        .anySatisfy(line -> assertThat(line).startsWith("Uid:\t" + base + "\t" + base))
        .contains("NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t00000000800405fb");
    assertThat(output("stat -c %u:%g / /etc /etc/hosts /workspace /usr/bin/env").lines())
        .containsOnly("0:0");
  }

  @Test
  void filesWrittenBelongToTheSandboxOutside() throws Exception {
    output("echo data > /workspace/file && chown 1000:1000 /workspace/file");
    Path outside =
        SandboxPaths.of(lab().options(), sandbox().id()).upper().resolve("workspace/file");
    assertThat(Files.getAttribute(outside, "unix:uid"))
        .isEqualTo(Math.toIntExact(sandbox().slot().ids().base() + 1000));
  }

  @Test
  void sysIsPrivateAndReadOnly() {
    assertThat(output("grep ' /sys sysfs ' /proc/mounts")).contains("sysfs /sys sysfs ro,");
    assertThat(output("ls /sys/class/net").lines()).containsExactlyInAnyOrder("eth0", "lo");
    assertThat(output("find /sys -maxdepth 3 -writable ! -type l 2>/dev/null | head -5")).isEmpty();
  }

  @Test
  void mountsShowNoPathOfTheHost() {
    assertThat(output("cat /proc/mounts"))
        .contains("overlay / overlay rw,nodev")
        .contains("lowerdir=lower,upperdir=disk/upper,workdir=disk/work")
        .doesNotContain(lab().options().dataDirectory().toString())
        .doesNotContain(lab().options().runDirectory().toString());
    assertThat(output("cat /proc/self/mountinfo"))
        .doesNotContain(lab().options().dataDirectory().toString());
  }

  @Test
  void processOneHoldsNothingWorthReading() throws Exception {
    assertThat(
            Files.readString(
                Path.of("/proc/" + sandbox().init().pid() + "/environ"),
                StandardCharsets.ISO_8859_1))
        .as("the runtime adds HOME")
        .isEqualTo(
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\0HOME=/root\0");
    assertThat(NodeLab.sh(sandbox(), "cat /proc/1/environ").status()).isNotZero();
    assertThat(NodeLab.sh(sandbox(), "readlink /proc/1/fd/*").status()).isNotZero();
  }

  @Test
  void startsWithoutDescriptorsOfTheHost() {
    assertThat(output("ls /proc/self/fd").lines()).containsExactly("0", "1", "2", "3");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "mount -t tmpfs none /mnt",
        "umount /proc",
        "unshare --mount true",
        "unshare --user true",
        "unshare --net true",
        "mknod /tmp/disk b 254 0",
        "echo x > /proc/sys/kernel/core_pattern",
        "echo 1 > /proc/sys/kernel/sysrq",
        "echo b > /proc/sysrq-trigger",
        "echo 1 > /proc/sys/net/ipv4/ip_forward",
        "hostname other",
        "date -s 2020-01-01",
        "touch /.hopx/new",
        "rm -f /.hopx/init",
        "head -c 1 /proc/1/mem",
        "mount -o remount,rw /sys",
        "swapoff -a && swapon /tmp/none",
        "cat /proc/kcore | head -c 1 | grep -q .",
        "test -s /proc/keys",
        "test -e /dev/mem || test -e /dev/kmsg || test -e /dev/vda",
        "chroot / mount -t proc proc /mnt"
      })
  void refuses(String script) {
    assertThat(NodeLab.sh(sandbox(), script + " 2>/dev/null").status()).as(script).isNotZero();
  }

  @Test
  void rootInsideMayWhatAMachineNeeds() {
    output("su -s /bin/sh daemon -c 'id -un' | grep -qx daemon");
    output("mkdir /opt/new && chown daemon:daemon /opt/new && chmod 4755 /opt/new");
    output("mkfifo /tmp/fifo && ln -s / /tmp/link");
    output(
        "python3 -c 'import socket; s = socket.socket(); s.bind((\"0.0.0.0\", 80)); s.listen()'");
    output("echo text > /dev/shm/file && df -m /dev/shm | grep -q ' 256 '");
    output("python3 -c 'import pty; pty.spawn([\"true\"])'");
    output("python3 -c 'import threading; threading.Thread(target=print).start()'");
  }

  @Test
  void pingsItself() {
    output(
        "python3 -c '\nimport socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1)\n"
            + "s.settimeout(5)\n"
            + "s.sendto(bytes([8, 0, 0, 0, 0, 0, 0, 1]), (\"127.0.0.1\", 0))\n"
            + "assert s.recv(100)[0] == 0\n'");
  }

  @Test
  void hasNamesOfItsOwn() {
    assertThat(output("hostname")).isEqualTo(sandbox().id().value());
    assertThat(output("getent hosts $(hostname)")).contains(sandbox().slot().address());
    assertThat(output("cat /etc/hostname")).isEqualTo(sandbox().id().value());
    assertThat(output("test -d /workspace && stat -c %a /workspace /tmp").lines())
        .containsExactly("755", "1777");
  }

  @Test
  void trustsTheCertificatesOfTheHost() throws Exception {
    Path host = Path.of("/etc/ssl/certs/ca-certificates.crt");
    org.junit.jupiter.api.Assumptions.assumeTrue(
        Files.exists(host), "SKIPPED, NOT PASSED: the host has no certificate bundle");
    assertThat(output("wc -c < /etc/ssl/certs/ca-certificates.crt"))
        .isEqualTo(Long.toString(Files.size(host)));
  }

  @Test
  void theChannelIsProcessOnesAlone() {
    String connect =
        "python3 -c '\nimport socket\n"
            + "s = socket.socket(socket.AF_UNIX)\n"
            + "s.settimeout(5)\n"
            + "s.connect(\"/.hopx/s\")\n"
            + "try:\n  s.send(b\"HOPX\" * 100)\n  assert s.recv(10) == b\"\"\n"
            + "except (BrokenPipeError, ConnectionResetError):\n  pass\n'";
    for (int i = 0; i < 3; i++) {
      output(connect);
      assertThat(output("echo still here")).isEqualTo("still here");
    }
  }

  @Test
  void environmentIsWhatIsGivenAndNoMore() {
    assertThat(output("env | cut -d= -f1 | sort").lines())
        .isSubsetOf(List.of("HOME", "LANG", "PATH", "PWD", "SHLVL", "_"));
  }

  @Test
  void killedByItsOwnRootItStays() {
    output("kill -9 1; kill -TERM 1; true");
    assertThat(sandbox().isAlive()).isTrue();
    assertThat(output("echo alive")).isEqualTo("alive");
  }
}
