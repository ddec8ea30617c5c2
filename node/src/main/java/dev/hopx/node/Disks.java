package dev.hopx.node;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Makes the disks of sandboxes: what they write lies in an ext4 file system of the promised size,
 * in a sparse file that takes only what is in use. A blank image of every size is formatted once
 * and copied for each sandbox, which costs a fraction of formatting.
 */
final class Disks {
  /** Below it a file system's own tables would take most of it. */
  static final int MINIMUM_MIB = 16;

  static final long WORTH_TRIMMING_BYTES = 16L << 20;

  private static final String FORMATTER = "mkfs.ext4";
  private static final String CHECKER = "e2fsck";

  /** The greatest status that is no failure: it found errors and mended them. */
  private static final int CHECKER_REPAIRED = 1;

  private static final Path LOOP_CONTROL = Path.of("/dev/loop-control");

  /** To be changed with the formatter's options: images of older servers are then left alone. */
  private static final String FORMAT = "ext4-1";

  private final NodeOptions options;
  private final HostHelper host;

  /** One formatting at a time; those that wait for it find the image. */
  private final ReentrantLock formatting = new ReentrantLock();

  /**
   * @throws NodeException when the host cannot have such disks; says what to do
   */
  Disks(NodeOptions options, HostHelper host) {
    this.options = options;
    this.host = host;
    if (options.diskQuota() == DiskQuota.LOOP) {
      requireLoopDevices(LOOP_CONTROL);
      HostSetup.privateDirectory(SandboxPaths.blankDisks(options));
    }
  }

  static void requireLoopDevices(Path control) {
    if (!Files.exists(control)) {
      throw new NodeException(
          "There is no "
              + control
              + ", so sandboxes cannot have disks of their own: load the kernel module (modprobe"
              + " loop), or go without disk quotas (disk-quota=none)");
    }
  }

  /** Makes the disk at {@link SandboxPaths#disk}, where an empty directory is. */
  void make(SandboxPaths paths, int mib) {
    switch (options.diskQuota()) {
      case LOOP -> {
        host.copyImage(blank(Math.max(mib, MINIMUM_MIB)), paths.diskImage());
        attach(paths, false);
      }
      case NONE -> {
        // The directory is all there is.
      }
    }
  }

  /**
   * Mounts the disk that a sandbox has, if it has one of its own.
   *
   * @param check whether it may have been cut off in the middle of a write: there is no journal
   * @throws NodeException also when it is mounted already
   */
  void attach(SandboxPaths paths, boolean check) {
    if (Files.exists(paths.diskImage())) {
      if (check) {
        repair(paths.diskImage());
      }
      host.mountDisk(paths.diskImage(), paths.disk());
    }
  }

  private static void repair(Path image) {
    ExternalCommand.run(
        "Checking a disk after a boot of the host (apt-get install e2fsprogs)",
        List.of(CHECKER, "-f", "-y", image.toString()),
        "",
        CHECKER_REPAIRED);
  }

  /** Gives back to the host what was freed on a disk, when it is worth it. */
  void trim(SandboxPaths paths) {
    if (Files.exists(paths.diskImage())) {
      host.trimDisk(paths.diskImage(), paths.disk(), WORTH_TRIMMING_BYTES);
    }
  }

  private Path blank(int mib) {
    Path image = SandboxPaths.blankDisks(options).resolve(FORMAT + "-" + mib + "m.img");
    if (Files.exists(image)) {
      return image;
    }
    formatting.lock();
    try {
      if (!Files.exists(image)) {
        format(image, mib);
      }
      return image;
    } finally {
      formatting.unlock();
    }
  }

  private static void format(Path image, int mib) {
    Path unfinished = image.resolveSibling(image.getFileName() + ".new");
    try {
      Files.deleteIfExists(unfinished);
      try (RandomAccessFile file = new RandomAccessFile(unfinished.toFile(), "rw")) {
        file.setLength((long) mib << 20);
      }
      ExternalCommand.run(
          "Formatting a disk of " + mib + " MiB (apt-get install e2fsprogs, or disk-quota=none)",
          List.of(
              FORMATTER,
              "-q",
              "-F",
              "-b",
              "4096",
              // Nothing is kept for the host's root, who never writes to it.
              "-m",
              "0",
              // No journal: what was mounted when the host crashed is checked, or never used again.
              "-O",
              "^has_journal,^resize_inode",
              "-E",
              "lazy_itable_init=1,nodiscard,root_owner=0:0",
              unfinished.toString()),
          "");
      Files.move(unfinished, image, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new NodeException("Cannot make the disk image " + image + ": " + e, e);
    }
  }
}
