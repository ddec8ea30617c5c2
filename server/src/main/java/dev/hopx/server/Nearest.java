package dev.hopx.server;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** Finds what somebody who mistyped may have meant. */
final class Nearest {
  private Nearest() {}

  /** The known word nearest to {@code word}, if a third of it or less is wrong. */
  static Optional<String> to(String word, List<String> known) {
    return known.stream()
        .min(Comparator.comparingInt(candidate -> distance(word, candidate)))
        .filter(candidate -> distance(word, candidate) <= Math.max(2, candidate.length() / 3));
  }

  /** Levenshtein's distance. */
  private static int distance(String left, String right) {
    int[] previous = new int[right.length() + 1];
    for (int column = 0; column <= right.length(); column++) {
      previous[column] = column;
    }
    for (int row = 1; row <= left.length(); row++) {
      int[] current = new int[right.length() + 1];
      current[0] = row;
      for (int column = 1; column <= right.length(); column++) {
        int substitution =
            previous[column - 1] + (left.charAt(row - 1) == right.charAt(column - 1) ? 0 : 1);
        int gap = Math.min(previous[column], current[column - 1]) + 1;
        current[column] = Math.min(substitution, gap);
      }
      previous = current;
    }
    return previous[right.length()];
  }
}
