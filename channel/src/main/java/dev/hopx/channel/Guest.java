package dev.hopx.channel;

/**
 * The inside of one sandbox, as the host may use it. Implementations are thread-safe; every method
 * may block and is meant for virtual threads.
 */
public interface Guest {
  /**
   * Starts a process and returns when it has been executed. With an owner that knows control groups
   * (the node) the process is in a control group of its own before its first instruction.
   *
   * @throws GuestException with the kind that says why it could not be started ({@code NOT_FOUND}:
   *     no such program or working directory) or {@code LOST} when the guest cannot be reached
   */
  GuestProcess start(Spawn spawn);

  /** File operations confined to {@code roots}, done under {@code user}. */
  GuestFiles files(FileRoots roots, GuestUser user);

  /** Opens a TCP connection from inside the sandbox, under the sandbox's own network policy. */
  GuestConnection dial(String host, int port);
}
