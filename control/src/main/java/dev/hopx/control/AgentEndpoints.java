package dev.hopx.control;

/**
 * Publishes the agents of sandboxes. Implemented by the server; thread-safe. Calls may come before
 * {@link SandboxService#create} returns and while the service starts.
 */
public interface AgentEndpoints {
  /**
   * Makes the sandbox's agent reachable on {@link SandboxRecord#agentPort()}; it answers when this
   * returns. The node has the sandbox already.
   *
   * @return the URL clients use, with scheme and without a trailing slash, e.g. {@code
   *     http://127.0.0.1:20001}
   * @throws java.io.UncheckedIOException when the port cannot be had; another one is tried then
   */
  String open(SandboxRecord sandbox);

  /** Ends what {@link #open} began, and its connections. Idempotent; unknown ids are no error. */
  void close(String sandboxId);
}
