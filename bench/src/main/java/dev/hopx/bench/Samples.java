package dev.hopx.bench;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Figures of one measurement, all in the same unit. */
final class Samples {
  private final List<Double> values = new ArrayList<>();

  void add(double value) {
    values.add(value);
  }

  void addAll(List<Double> more) {
    values.addAll(more);
  }

  int count() {
    return values.size();
  }

  double median() {
    return quantile(0.5);
  }

  /** Nearest-rank quantile, {@code share} from 0 to 1; NaN when there are no samples. */
  double quantile(double share) {
    if (values.isEmpty()) {
      return Double.NaN;
    }
    List<Double> sorted = new ArrayList<>(values);
    Collections.sort(sorted);
    int rank = (int) Math.ceil(share * sorted.size());
    return sorted.get(Math.max(0, rank - 1));
  }
}
