package dev.hopx.channel;

/**
 * A process that a guest has from the time of an earlier owner.
 *
 * @param stream its id, given to {@link GuestChannel#resume}
 * @param pid process id inside the guest
 * @param tag as given to {@link Spawn}
 * @param stdin true: it has a standard input that is still open
 * @param stdout what is known of its output
 * @param stderr what is known of its errors; empty ranges with a terminal or merged streams
 */
public record AdoptableProcess(
    long stream,
    int pid,
    State state,
    String tag,
    boolean terminal,
    boolean keep,
    boolean stdin,
    Output stdout,
    Output stderr) {
  /** Where a process stands. */
  public enum State {
    /** Made, but not told to go: its owner died in between. It can only be given up. */
    HELD,
    RUNNING,
    EXITED
  }

  /**
   * Offsets in the history of one output.
   *
   * @param consumed an earlier owner has taken all below; it is gone
   * @param sent the guest has read this much from the process; more may wait in its pipe
   * @param ended true: nothing follows {@code sent}
   */
  public record Output(long consumed, long sent, boolean ended) {}
}
