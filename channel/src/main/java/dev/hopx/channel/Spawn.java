package dev.hopx.channel;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What to start in a guest; the wire form is {@code SPAWN} in {@code guest/PROTOCOL.md}.
 *
 * @param argv program and arguments, at least one; a program without a slash is looked up in the
 *     {@code PATH} of {@code environment}
 * @param environment the complete environment of the process
 * @param workingDirectory absolute; must exist
 * @param stdinPipe true: {@link GuestProcess#stdin()} is its standard input; false: /dev/null
 * @param terminal a pseudo terminal of this size instead of pipes
 * @param mergeStderr stderr goes to stdout
 * @param keep the process outlives the loss of its owner (the server); otherwise it is killed then
 * @param tag opaque text for finding the process again after a restart, at most 255 bytes of UTF-8
 */
public record Spawn(
    List<String> argv,
    Map<String, String> environment,
    String workingDirectory,
    GuestUser user,
    boolean stdinPipe,
    Optional<TerminalSize> terminal,
    boolean mergeStderr,
    boolean keep,
    String tag) {
  /**
   * Tag of a process that is no run itself but serves many. It dies with its owner as others do;
   * what its runs left outside its process group on purpose goes on.
   */
  public static final String LONG_LIVED_TAG = "long-lived";

  public Spawn {
    argv = List.copyOf(argv);
    environment = Map.copyOf(environment);
    if (argv.isEmpty()) {
      throw new IllegalArgumentException("argv must not be empty");
    }
  }

  /** A process with stdin from /dev/null and two output pipes that dies with its owner. */
  public static Spawn of(List<String> argv, Map<String, String> environment, String directory) {
    return new Spawn(
        argv, environment, directory, GuestUser.ROOT, false, Optional.empty(), false, false, "");
  }

  public Spawn withStdin() {
    return new Spawn(
        argv, environment, workingDirectory, user, true, terminal, mergeStderr, keep, tag);
  }

  public Spawn withTag(String newTag) {
    return new Spawn(
        argv, environment, workingDirectory, user, stdinPipe, terminal, mergeStderr, keep, newTag);
  }

  /** Size of a terminal in character cells, 1 to 65,535 each. */
  public record TerminalSize(int columns, int rows) {
    public TerminalSize {
      if (columns < 1 || columns > 0xFFFF || rows < 1 || rows > 0xFFFF) {
        throw new IllegalArgumentException("Terminal size must be 1 to 65535 cells each way");
      }
    }
  }
}
