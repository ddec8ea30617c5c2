package dev.hopx.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The table that a run of the benchmark prints. */
final class Report {
  private final List<String> lines = new ArrayList<>();

  Report() {
    lines.add(String.format("%-46s %6s %10s %10s %10s", "what", "n", "median", "p95", "unit"));
  }

  void add(String what, Samples samples, String unit) {
    lines.add(
        String.format(
            Locale.ROOT,
            "%-46s %6d %10.2f %10.2f %10s",
            what,
            samples.count(),
            samples.median(),
            samples.quantile(0.95),
            unit));
  }

  /** A ratio of two medians of the same run. */
  void ratio(String what, Samples above, Samples below) {
    lines.add(
        String.format(
            Locale.ROOT,
            "%-46s %6s %10.2f %10s %10s",
            what,
            "",
            above.median() / below.median(),
            "",
            "times"));
  }

  String text() {
    return String.join(System.lineSeparator(), lines);
  }
}
