package dev.hopx.template;

/** How many single-character changes lead from one name to the other. */
final class EditDistance {
  // Longer input is cut: the cost grows with the product of the lengths, and one side is a
  // client's.
  private static final int MAX_LENGTH = 100;

  private EditDistance() {}

  static int between(String first, String second) {
    String left = first.substring(0, Math.min(first.length(), MAX_LENGTH));
    String right = second.substring(0, Math.min(second.length(), MAX_LENGTH));
    int[] previous = new int[right.length() + 1];
    int[] current = new int[right.length() + 1];
    for (int column = 0; column <= right.length(); column++) {
      previous[column] = column;
    }
    for (int row = 1; row <= left.length(); row++) {
      current[0] = row;
      for (int column = 1; column <= right.length(); column++) {
        int replace =
            previous[column - 1] + (left.charAt(row - 1) == right.charAt(column - 1) ? 0 : 1);
        current[column] = Math.min(replace, Math.min(previous[column], current[column - 1]) + 1);
      }
      int[] swap = previous;
      previous = current;
      current = swap;
    }
    return previous[right.length()];
  }
}
