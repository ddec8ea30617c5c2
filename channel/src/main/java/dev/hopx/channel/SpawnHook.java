package dev.hopx.channel;

/** What the owner of a guest does for each process beside the guest itself: control groups. */
public interface SpawnHook {
  /**
   * The process exists and waits; it runs its program when this returns. Called on the thread that
   * starts it, never for a resumed process.
   *
   * @param guestPid process id inside the guest
   * @throws RuntimeException ends the process before its first instruction and reaches the caller
   */
  void placed(int guestPid);

  /** Kills the whole tree and returns when it is dead. Idempotent. */
  void killTree();

  /** The process was let go ({@link GuestProcess#close()}) or could not be started. Called once. */
  void released();
}
