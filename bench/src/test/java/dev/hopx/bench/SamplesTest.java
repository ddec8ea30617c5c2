package dev.hopx.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

final class SamplesTest {
  @Test
  void quantilesAreNearestRank() {
    Samples samples = new Samples();
    samples.addAll(List.of(5.0, 1.0, 4.0, 2.0, 3.0));
    assertThat(samples.median()).isEqualTo(3.0);
    assertThat(samples.quantile(0.95)).isEqualTo(5.0);
    assertThat(samples.quantile(0.0)).isEqualTo(1.0);
  }

  @Test
  void noSamplesGiveNoFigure() {
    assertThat(new Samples().median()).isNaN();
  }
}
