package dev.hopx.template;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class EditDistanceTest {
  @Test
  void countsChanges() {
    assertThat(EditDistance.between("base", "base")).isZero();
    assertThat(EditDistance.between("bsae", "base")).isEqualTo(2);
    assertThat(EditDistance.between("", "base")).isEqualTo(4);
    assertThat(EditDistance.between("kitten", "sitting")).isEqualTo(3);
  }

  @Test
  void longInputCostsNoMore() {
    assertThat(EditDistance.between("x".repeat(1_000_000), "y".repeat(1_000_000))).isEqualTo(100);
  }
}
