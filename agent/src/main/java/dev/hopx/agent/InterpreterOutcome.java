package dev.hopx.agent;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * How a run in an interpreter went.
 *
 * @param result the text of the last expression
 * @param richOutputs in the order they were made
 * @param stateLost the interpreter is another one than before: by this run, or since the last one
 */
record InterpreterOutcome(
    RunOutcome run, Optional<String> result, List<RichOutput> richOutputs, boolean stateLost) {
  InterpreterOutcome {
    richOutputs = List.copyOf(richOutputs);
  }

  static InterpreterOutcome plain(RunOutcome run, boolean stateLost) {
    return new InterpreterOutcome(run, Optional.empty(), List.of(), stateLost);
  }

  /** The same, with what {@code memory} says of the run. */
  InterpreterOutcome judged(MemoryWatch.Run memory) {
    return new InterpreterOutcome(memory.judge(run), result, richOutputs, stateLost);
  }

  /**
   * Puts the fields of the response (contract §4.2): at the top level the last output of each kind,
   * as the clients take them, and all of them in order.
   *
   * @param always the list is there even when it is empty
   */
  void describe(Map<String, Object> reply, boolean always) {
    run.describe(reply);
    result.ifPresent(text -> reply.put("result", text));
    richOutputs.forEach(output -> output.describeTop(reply));
    if (always || !richOutputs.isEmpty()) {
      reply.put("rich_outputs", richOutputs.stream().map(RichOutput::describe).toList());
    }
    if (stateLost) {
      reply.put("state_lost", true);
    }
  }
}
