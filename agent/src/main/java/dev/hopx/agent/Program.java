package dev.hopx.agent;

import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * How to run something.
 *
 * @param commandLines the same program under its possible names; the first one that exists is run
 * @param name what it is called in "command not found"
 * @param input given over stdin; without it stdin is /dev/null
 * @param errors applied to what the program wrote to stderr
 */
record Program(
    List<List<String>> commandLines,
    String name,
    Optional<byte[]> input,
    UnaryOperator<String> errors) {
  Program {
    commandLines = List.copyOf(commandLines);
    if (commandLines.isEmpty()) {
      throw new IllegalArgumentException("At least one command line");
    }
  }

  static Program of(List<List<String>> commandLines, String name) {
    return new Program(commandLines, name, Optional.empty(), UnaryOperator.identity());
  }

  static Program of(List<List<String>> commandLines, String name, byte[] input) {
    return new Program(commandLines, name, Optional.of(input), UnaryOperator.identity());
  }
}
