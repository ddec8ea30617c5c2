package dev.hopx.channel;

import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Optional;

/**
 * A process in a guest. Reading its output gives credit to the guest: who stops reading stops the
 * process. One thread may read each stream; the other methods are thread-safe.
 */
public interface GuestProcess extends AutoCloseable {
  /** Process id as the guest sees it. */
  int pid();

  /**
   * Standard input; writing blocks while the process does not read. Only with a pipe or terminal.
   */
  OutputStream stdin();

  /**
   * Standard output (terminal output with a terminal). A read that fails because the guest was lost
   * throws an {@link java.io.IOException} caused by a {@link GuestException}.
   */
  InputStream stdout();

  /** Standard error; at its end at once with a terminal or merged streams. */
  InputStream stderr();

  /** Waits until the process itself has ended, whoever still holds its pipes. */
  ProcessExit awaitExit() throws InterruptedException;

  /** As {@link #awaitExit()}, but at most {@code timeout}; empty when it runs on. */
  Optional<ProcessExit> awaitExit(Duration timeout) throws InterruptedException;

  /** Sends a signal to the process ({@code group} false) or its process group. */
  void signal(int signal, boolean group);

  void resize(Spawn.TerminalSize size);

  /**
   * Kills the process and everything that descends from it, wherever it re-parented itself, and
   * returns when all of it is dead. Idempotent.
   */
  void killTree();

  /** Lets go of the streams and of what the guest retains. Does not kill; idempotent. */
  @Override
  void close();
}
