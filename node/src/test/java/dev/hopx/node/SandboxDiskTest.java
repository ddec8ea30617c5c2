package dev.hopx.node;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hopx.channel.FileRoots;
import dev.hopx.channel.GuestException;
import dev.hopx.channel.GuestFiles;
import dev.hopx.channel.GuestUser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Every sandbox has a disk of the promised size, and the host's is none of its business. */
final class SandboxDiskTest {
  private static final Resources DISK_OF_256_MIB = new Resources(1, 512, 256, 256);

  private static @Nullable NodeLab lab;

  @BeforeAll
  static void open() {
    lab = new NodeLab();
  }

  @AfterAll
  static void close() {
    if (lab != null) {
      lab.close();
    }
  }

  private static NodeLab lab() {
    return requireNonNull(lab);
  }

  @Test
  void aFullDiskIsTheSandboxesOwnProblem() {
    Sandbox sandbox = lab().create(DISK_OF_256_MIB);
    Sandbox neighbour = lab().create(DISK_OF_256_MIB);
    NodeLab.Result full =
        NodeLab.sh(sandbox, "head -c 1000M /dev/zero > /workspace/big; echo status $?");
    assertThat(full.output()).contains("No space left on device", "status 1");
    assertThat(Long.parseLong(NodeLab.sh(sandbox, "stat -c %s /workspace/big").output()))
        .isBetween(200L << 20, 256L << 20);
    assertThatThrownBy(() -> write(sandbox, "/workspace/more", new byte[1 << 20]))
        .isInstanceOfSatisfying(
            GuestException.class,
            failure -> assertThat(failure.kind()).isEqualTo(GuestException.Kind.DISK_FULL));
    assertThat(NodeLab.sh(sandbox, "echo alive").output()).isEqualTo("alive");
    assertThat(NodeLab.sh(neighbour, "head -c 100M /dev/zero > /workspace/file; echo $?").output())
        .isEqualTo("0");
    assertThat(NodeLab.sh(sandbox, "rm /workspace/big; head -c 100M /dev/zero > /a; echo $?"))
        .as("what was removed can be used again")
        .isEqualTo(new NodeLab.Result(0, "0"));
    NodeLab.sh(sandbox, "head -c 1000M /dev/zero > /workspace/big");
    lab().node().delete(sandbox.id());
    lab().node().delete(neighbour.id());
    assertThat(lab().node().find(sandbox.id())).isEmpty();
  }

  @Test
  void takesOfTheHostWhatIsInUseAndGivesItBack() throws Exception {
    Sandbox sandbox = lab().create(new Resources(1, 512, 10_240, 256));
    Path image = SandboxPaths.of(lab().options(), sandbox.id()).diskImage();
    assertThat(usedKib(image)).as("a fresh disk of 10 GiB").isLessThan(1024);
    assertThat(NodeLab.sh(sandbox, "df -m / | awk 'NR == 2 { print $2 }'").output())
        .satisfies(size -> assertThat(Long.parseLong(size)).isBetween(9_700L, 10_240L));
    assertThat(NodeLab.sh(sandbox, "truncate -s 9G /workspace/sparse; sync; echo $?").output())
        .isEqualTo("0");
    assertThat(usedKib(image)).as("with a sparse file (D16)").isLessThan(2048);
    NodeLab.sh(sandbox, "head -c 200M /dev/zero > /workspace/file; sync");
    assertThat(usedKib(image)).as("with 200 MiB").isGreaterThan(200 << 10);
    NodeLab.sh(sandbox, "rm /workspace/file; sync");
    lab().node().trimDisks();
    assertThat(usedKib(image)).as("after their removal").isLessThan(4096);
    lab().node().delete(sandbox.id());
    assertThat(lab().node().awaitRemovals(Duration.ofSeconds(30))).isTrue();
    assertThat(image).doesNotExist();
  }

  @Test
  void theSmallestDiskHoldsASandbox() {
    Sandbox sandbox = lab().create(new Resources(1, 512, 1, 256));
    assertThat(NodeLab.sh(sandbox, "df -m / | awk 'NR == 2 { print $2 }'").output())
        .satisfies(
            size -> assertThat(Long.parseLong(size)).isBetween(8L, (long) Disks.MINIMUM_MIB));
    lab().node().delete(sandbox.id());
  }

  @Test
  void programsOnTheDiskRunAlsoWithTheRightsOfOthers() {
    Sandbox sandbox = lab().create(DISK_OF_256_MIB);
    assertThat(
            NodeLab.sh(
                    sandbox,
                    "cp /bin/echo /workspace/e && /workspace/e runs && chmod u+s /workspace/e"
                        + " && stat -c %A /workspace/e")
                .output())
        .isEqualTo("runs\n-rwsr-xr-x");
    lab().node().delete(sandbox.id());
  }

  @Test
  void hidesTheDisksOfOthers() {
    Sandbox sandbox = lab().create(DISK_OF_256_MIB);
    assertThat(
            NodeLab.sh(sandbox, "cat /sys/block/loop*/loop/backing_file; cat /proc/mounts")
                .output())
        .doesNotContain(lab().options().dataDirectory().toString(), ".img");
    lab().node().delete(sandbox.id());
  }

  @Test
  void aDiskInUseIsNeverAttachedAgain() throws Exception {
    Sandbox sandbox = lab().create(DISK_OF_256_MIB);
    Path image = SandboxPaths.of(lab().options(), sandbox.id()).diskImage();
    Path target = Files.createTempDirectory("hopx-disk-test");
    Path free = Files.createTempFile("hopx-disk-test", ".img");
    try (HostHelper helper =
        HostHelper.start(lab().options().runDirectory().resolve("bin/hopx-host"))) {
      assertThatThrownBy(() -> helper.mountDisk(image, target))
          .isInstanceOf(NodeException.class)
          .hasMessageContaining("it is in use")
          .hasMessageContaining(image.toString());
      // What somebody attached by hand, and so without the lock, is found as well.
      Files.delete(free);
      helper.copyImage(image, free);
      String device = HostHelperLab.run("losetup", "-f", "--show", free.toString()).strip();
      try {
        assertThatThrownBy(() -> helper.mountDisk(free, target))
            .hasMessageContaining("it is in use");
      } finally {
        HostHelperLab.run("losetup", "-d", device);
      }
    } finally {
      Files.deleteIfExists(free);
      Files.delete(target);
    }
    assertThat(NodeLab.sh(sandbox, "echo unharmed > /f; cat /f").output()).isEqualTo("unharmed");
    lab().node().delete(sandbox.id());
  }

  @Test
  void aNewServerGoesOnWithTheMountedDisk() throws Exception {
    try (NodeLab own = new NodeLab()) {
      Sandbox sandbox = own.create(DISK_OF_256_MIB);
      NodeLab.sh(sandbox, "echo kept > /workspace/file");
      List<String> mounts = own.mounts();
      List<String> devices = own.loopDevices();
      assertThat(devices).hasSize(1);
      own.stopNode();
      Sandbox found = own.node().find(sandbox.id()).orElseThrow();
      assertThat(NodeLab.sh(found, "cat /workspace/file").output()).isEqualTo("kept");
      assertThat(own.mounts()).isEqualTo(mounts);
      assertThat(own.loopDevices()).isEqualTo(devices);
      assertThat(NodeLab.sh(found, "head -c 1000M /dev/zero > /workspace/big").output())
          .contains("No space left on device");
      own.node().delete(sandbox.id());
      assertThat(own.node().awaitRemovals(Duration.ofSeconds(30))).isTrue();
      assertThat(own.mounts()).isEmpty();
      assertThat(own.loopDevices()).isEmpty();
    }
  }

  @Test
  void removesDisksThatAnotherServerHadNoTimeFor() throws Exception {
    try (NodeLab own = new NodeLab()) {
      LocalSandbox sandbox = (LocalSandbox) own.create(DISK_OF_256_MIB);
      SandboxPaths paths = SandboxPaths.of(own.options(), sandbox.id());
      own.stopNode();
      NodeLab.kill(sandbox);
      // As if the server had died right after it put the directory aside.
      Path aside = SandboxPaths.discarded(own.options()).resolve("left");
      Files.move(paths.data(), aside);
      assertThat(own.loopDevices()).hasSize(1);
      assertThat(own.node().awaitRemovals(Duration.ofSeconds(30))).isTrue();
      assertThat(aside).doesNotExist();
      assertThat(own.mounts()).isEmpty();
      assertThat(own.loopDevices()).isEmpty();
    }
  }

  @Test
  void withoutQuotaThereIsNoLoopDevice() throws Exception {
    try (NodeLab own = new NodeLab()) {
      LocalNode node = own.start(own.options().withDiskQuota(DiskQuota.NONE));
      Sandbox sandbox = node.create(own.spec());
      assertThat(NodeLab.sh(sandbox, "echo works > /f; cat /f").output()).isEqualTo("works");
      assertThat(own.loopDevices()).isEmpty();
      node.delete(sandbox.id());
    }
  }

  @Test
  void aHostWithoutLoopDevicesIsToldWhatToDo() {
    assertThatThrownBy(() -> Disks.requireLoopDevices(Path.of("/nowhere/loop-control")))
        .isInstanceOf(NodeException.class)
        .hasMessageContaining("modprobe loop")
        .hasMessageContaining("disk-quota=none");
  }

  private static void write(Sandbox sandbox, String path, byte[] content) {
    GuestFiles files = sandbox.guest().files(FileRoots.UNRESTRICTED, GuestUser.ROOT);
    try (GuestFiles.GuestFileSink sink = files.write(path, OptionalInt.empty(), false, false)) {
      try {
        sink.content().write(content);
      } catch (IOException refused) {
        throw (GuestException) requireNonNull(refused.getCause());
      }
      sink.commit();
    }
  }

  private static long usedKib(Path file) throws Exception {
    return Long.parseLong(HostHelperLab.run("du", "-k", file.toString()).split("\\s")[0]);
  }
}
