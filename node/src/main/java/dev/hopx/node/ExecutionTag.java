package dev.hopx.node;

import java.util.Optional;
import java.util.OptionalLong;

/**
 * The tag a guest keeps for a process: the number of its execution, so that a later server finds
 * its control group, and the caller's own tag.
 *
 * @param execution number of the execution
 * @param tag the caller's
 */
record ExecutionTag(long execution, String tag) {
  /** Bytes that the number takes of a tag at most, with a separator. */
  static final int MAX_PREFIX_BYTES = 20;

  static Optional<ExecutionTag> parse(String text) {
    int end = text.indexOf(' ');
    if (end < 0) {
      return Optional.empty();
    }
    OptionalLong execution = ExecutionGroup.number(text.substring(0, end));
    return execution.isPresent()
        ? Optional.of(new ExecutionTag(execution.getAsLong(), text.substring(end + 1)))
        : Optional.empty();
  }

  String text() {
    return ExecutionGroup.name(execution) + " " + tag;
  }
}
