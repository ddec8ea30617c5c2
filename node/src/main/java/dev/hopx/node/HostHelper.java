package dev.hopx.node;

import static java.util.Objects.requireNonNull;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What the JDK cannot do on the host, done by the program hopx-host: namespaces, mounts, links,
 * removal of hostile trees. Owns the running program and starts it again when it has died; only the
 * requests under way at that moment fail, and none of them goes on behind the caller's back.
 *
 * <p>Thread-safe; requests overlap. A request is waited for even when the calling thread is
 * interrupted: who undoes what was made has to know what was made. All methods throw {@link
 * NodeException} with the step, the path and the system's reason. Paths have to be absolute.
 */
final class HostHelper implements AutoCloseable {
  private final Path binary;
  private final ReentrantLock starting = new ReentrantLock();
  private HostHelperProcess process;
  private boolean closed;

  private HostHelper(Path binary, HostHelperProcess process) {
    this.binary = binary;
    this.process = process;
  }

  /**
   * @param binary the hopx-host program
   * @throws NodeException when it cannot be run
   */
  static HostHelper start(Path binary) {
    requireNonNull(binary, "binary is null");
    return new HostHelper(binary, HostHelperProcess.start(binary));
  }

  /**
   * Makes a user namespace that maps its ids from 0 to the host's from {@code idBase}, owned by the
   * host's user {@code idBase}, and inside it a network namespace with nothing but loopback. Both
   * are held by bind mounts on the given paths, which must not exist. Leaves nothing behind when it
   * fails.
   *
   * @param idBase 1 to 2,147,483,647
   * @param idCount at least 1; the range has to end at or below 2,147,483,647
   */
  void createNamespaces(Path userPin, Path networkPin, long idBase, int idCount) {
    call(namespaces(userPin, networkPin, idBase, idCount));
  }

  /** The same with a link to the host. */
  void createNamespaces(Path userPin, Path networkPin, long idBase, int idCount, Veth veth) {
    requireNonNull(veth, "veth is null");
    List<String> words = new ArrayList<>(namespaces(userPin, networkPin, idBase, idCount));
    words.addAll(
        List.of(
            veth.hostName(), veth.guestAddress(), veth.gateway(), Integer.toString(veth.mtu())));
    call(words);
  }

  private static List<String> namespaces(Path userPin, Path networkPin, long idBase, int idCount) {
    return List.of(
        "namespaces",
        absolute(userPin),
        absolute(networkPin),
        Long.toString(idBase),
        Integer.toString(idCount));
  }

  /** Removes a link of the host, and with it its other end; one that is gone is no failure. */
  void removeLink(String name) {
    Veth.requireName(name);
    call(List.of("remove-link", name));
  }

  /** Takes the bind mount off a pin and removes its file; one that is gone is no failure. */
  void unpin(Path pin) {
    call(List.of("unpin", absolute(pin)));
  }

  /**
   * Mounts a directory (not what is mounted below it) a second time, read-only, with its owners
   * mapped into the given user namespace: what belongs to the host's user 0 belongs to root inside.
   *
   * @throws NodeException also when the kernel or the file system has no idmapped mounts, which the
   *     message says
   */
  void idmap(Path source, Path target, Path userNamespacePin) {
    call(List.of("idmap", absolute(source), absolute(target), absolute(userNamespacePin)));
  }

  /**
   * Mounts an overlay. All names are relative to the directory, so that no path of the host shows
   * in the guest's list of mounts; they hold no comma and no backslash.
   *
   * @param lower one or more names, the topmost first, separated by colons
   */
  void overlay(Path directory, String lower, String upper, String work, String target) {
    requireNonNull(lower, "lower is null");
    requireNonNull(upper, "upper is null");
    requireNonNull(work, "work is null");
    requireNonNull(target, "target is null");
    call(List.of("overlay", absolute(directory), lower, upper, work, target));
  }

  /** Mounts a file or directory a second time, without devices and setuid programs. */
  void bind(Path source, Path target, boolean readOnly) {
    call(List.of("bind", absolute(source), absolute(target), readOnly ? "ro" : "rw"));
  }

  /** Copies a sparse file, sharing its blocks where possible; the target must not exist. */
  void copyImage(Path source, Path target) {
    call(List.of("copy-image", absolute(source), absolute(target)));
  }

  /**
   * Mounts the ext4 file system in a file, over a loop device that goes with the mount.
   *
   * @throws NodeException also when the file is attached to a loop device already, here or in
   *     another mount namespace: a second mount would ruin it
   */
  void mountDisk(Path image, Path target) {
    call(List.of("mount-disk", absolute(image), absolute(target)));
  }

  /**
   * Gives back what the file system in an image has freed, when that is at least so many bytes.
   *
   * @param target where the image is mounted
   */
  void trimDisk(Path image, Path target, long atLeastBytes) {
    call(List.of("trim-disk", absolute(image), absolute(target), Long.toString(atLeastBytes)));
  }

  /**
   * Waits until an image that was unmounted is in nobody's use, up to 10 s, and puts what was
   * written to it on the host's disk.
   */
  void settleDisk(Path image) {
    call(List.of("settle-disk", absolute(image)));
  }

  /** Detaches everything mounted on the path; nothing mounted or nothing there is no failure. */
  void unmount(Path target) {
    call(List.of("unmount", absolute(target)));
  }

  /**
   * Makes one directory with exactly this mode and owner; the one above it has to exist, it itself
   * must not.
   *
   * @param mode permission bits, 0 to 07777
   */
  void makeDirectory(Path path, int mode, long uid, long gid) {
    call(
        List.of(
            "mkdir",
            absolute(path),
            Integer.toString(mode),
            Long.toString(uid),
            Long.toString(gid)));
  }

  /** Changes the owner of a file, a directory or a link itself. */
  void changeOwner(Path path, long uid, long gid) {
    call(List.of("chown", absolute(path), Long.toString(uid), Long.toString(gid)));
  }

  /**
   * Removes a file, link or directory with all below it. Links are not followed; fails when
   * something is mounted inside, without touching what is mounted. Nothing there is no failure. May
   * take minutes on a tree of millions of files.
   */
  void removeTree(Path path) {
    call(List.of("remove-tree", absolute(path)));
  }

  /**
   * Sets one of the kernel parameters that a node is allowed to change.
   *
   * @param name with slashes, as below /proc/sys
   */
  void setKernelParameter(String name, String value) {
    requireNonNull(name, "name is null");
    requireNonNull(value, "value is null");
    call(List.of("sysctl", name, value));
  }

  /** The program's process id, for tests. */
  long pid() {
    return running().pid();
  }

  private static String absolute(Path path) {
    requireNonNull(path, "path is null");
    if (!path.isAbsolute()) {
      throw new IllegalArgumentException("Not an absolute path: " + path);
    }
    return path.toString();
  }

  private HostHelperProcess running() {
    starting.lock();
    try {
      if (closed) {
        throw new NodeException("The host helper is closed");
      }
      if (!process.isAlive()) {
        process.close();
        process = HostHelperProcess.start(binary);
      }
      return process;
    } finally {
      starting.unlock();
    }
  }

  private void call(List<String> words) {
    HostHelperProcess.Reply reply = running().call(words);
    switch (reply.status()) {
      case "ok" -> {}
      case "failed" ->
          throw new NodeException(
              "Host helper could not %s (%s): %s"
                  .formatted(reply.step(), reply.subject(), reply.text()));
      case "unsupported" ->
          throw new NodeException(
              ("Host helper could not %s (%s): %s. Idmapped mounts need Linux 5.19 and a file system"
                      + " that has them, such as ext4, xfs or btrfs")
                  .formatted(reply.step(), reply.subject(), reply.text()));
      case "lost" ->
          throw new NodeException(
              "The host helper ended during %s of %s; what it left half made has to be undone"
                  .formatted(words.get(0), words.get(1)));
      default -> throw new NodeException("The host helper answered nonsense: " + reply.status());
    }
  }

  /** Waits for the requests under way. Idempotent; requests that come later fail. */
  @Override
  public void close() {
    starting.lock();
    try {
      closed = true;
      process.close();
    } finally {
      starting.unlock();
    }
  }
}
