package dev.hopx.node;

import java.nio.file.Path;

/**
 * Where a sandbox's things lie.
 *
 * @param data what survives a reboot; the runtime's bundle as well
 * @param run what does not
 */
record SandboxPaths(Path data, Path run) {
  /** Names in {@code data}, as the overlay is given them. */
  static final String LOWER = "lower";

  /** Holds all that the sandbox writes; usually a file system of its own. */
  static final String DISK = "disk";

  static final String UPPER = DISK + "/upper";
  static final String WORK = DISK + "/work";
  static final String ROOT = "root";

  static SandboxPaths of(NodeOptions options, SandboxId id) {
    return new SandboxPaths(
        dataDirectory(options).resolve(id.value()), runDirectory(options).resolve(id.value()));
  }

  /** The directory of all sandboxes. */
  static Path dataDirectory(NodeOptions options) {
    return options.dataDirectory().resolve("sandboxes");
  }

  /** Where directories of deleted sandboxes wait for their removal. */
  static Path discarded(NodeOptions options) {
    return options.dataDirectory().resolve("discarded");
  }

  /** Formatted disk images to copy, one of each size. */
  static Path blankDisks(NodeOptions options) {
    return options.dataDirectory().resolve("disks");
  }

  static Path runDirectory(NodeOptions options) {
    return options.runDirectory().resolve("sandboxes");
  }

  Path record() {
    return data.resolve("sandbox.json");
  }

  Path state() {
    return data.resolve("state");
  }

  Path lower() {
    return data.resolve(LOWER);
  }

  Path disk() {
    return data.resolve(DISK);
  }

  Path diskImage() {
    return data.resolve("disk.img");
  }

  Path upper() {
    return data.resolve(UPPER);
  }

  Path work() {
    return data.resolve(WORK);
  }

  Path root() {
    return data.resolve(ROOT);
  }

  Path configuration() {
    return data.resolve("config.json");
  }

  /** What the runtime says, and process 1 should it ever say anything. */
  Path log() {
    return data.resolve("runtime.log");
  }

  Path initPid() {
    return data.resolve("init.pid");
  }

  Path userNamespace() {
    return run.resolve("user");
  }

  Path networkNamespace() {
    return run.resolve("net");
  }

  /** Seen as {@code /.hopx} inside. */
  Path guest() {
    return run.resolve("guest");
  }

  Path guestInit() {
    return guest().resolve("init");
  }

  Path guestSocket() {
    return guest().resolve("s");
  }
}
