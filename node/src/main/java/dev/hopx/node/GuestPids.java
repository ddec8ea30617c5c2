package dev.hopx.node;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Finds the process of the host that a guest knows by another number. */
final class GuestPids {
  private static final String NAMESPACE_PIDS = "NSpid:";

  private GuestPids() {}

  /**
   * The host's pid of a child of process 1. Only children of this very process are looked at, so
   * whatever the guest says, no process outside the sandbox can be meant.
   *
   * @throws NodeException when it has no such child
   */
  static long hostPid(ProcessIdentity init, int guestPid) {
    String wanted = Integer.toString(guestPid);
    String[] children = children(init.pid());
    // The newest child stands last.
    for (int i = children.length - 1; i >= 0; i--) {
      if (!children[i].isEmpty() && wanted.equals(innermostPid(children[i]))) {
        if (!init.isAlive()) {
          break;
        }
        return Long.parseLong(children[i]);
      }
    }
    throw new NodeException("Process 1 of the sandbox has no child " + guestPid);
  }

  private static String[] children(long pid) {
    try {
      return Files.readString(Path.of("/proc/" + pid + "/task/" + pid + "/children")).split(" ");
    } catch (IOException e) {
      throw new NodeException("Process 1 of the sandbox is gone", e);
    }
  }

  private static String innermostPid(String pid) {
    try {
      for (String line :
          Files.readAllLines(Path.of("/proc/" + pid + "/status"), StandardCharsets.ISO_8859_1)) {
        if (line.startsWith(NAMESPACE_PIDS)) {
          return line.substring(line.lastIndexOf('\t') + 1);
        }
      }
    } catch (IOException _) {
      // It ended meanwhile.
    }
    return "";
  }
}
