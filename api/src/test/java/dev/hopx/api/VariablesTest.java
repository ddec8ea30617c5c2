package dev.hopx.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class VariablesTest {
  @ParameterizedTest
  @ValueSource(strings = {"A", "_", "a.b-c_1"})
  void plainNamesAreTaken(String name) {
    assertThatCode(() -> Variables.check("env", name, "any\nvalue=あ")).doesNotThrowAnyException();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "1A", "A B", "A=B", "Ä", "A\0"})
  void otherNamesAreRefused(String name) {
    assertThatThrownBy(() -> Variables.check("env", name, "secret"))
        .isInstanceOf(ApiException.class)
        .hasMessageStartingWith("Invalid env: ")
        .hasMessageNotContaining("secret");
  }

  @Test
  void namesAreBounded() {
    String longest = "A".repeat(Variables.MAX_NAME);
    assertThatCode(() -> Variables.check("env", longest, "")).doesNotThrowAnyException();
    assertThatThrownBy(() -> Variables.check("env", longest + "A", ""))
        .isInstanceOf(ApiException.class);
  }

  @Test
  void sizeCountsBytesAndTheCostOfEachVariable() {
    Map<String, String> variables = Map.of("A", "あ", "BB", "x");
    int size = 1 + 3 + 2 + 1 + 2 * Variables.ENTRY_COST;
    assertThat(Variables.size(variables)).isEqualTo(size);
    assertThatCode(() -> Variables.checkSize("env", variables, size)).doesNotThrowAnyException();
    assertThatThrownBy(() -> Variables.checkSize("env", variables, size - 1))
        .isInstanceOf(ApiException.class)
        .hasMessageContaining(size + " bytes");
  }
}
