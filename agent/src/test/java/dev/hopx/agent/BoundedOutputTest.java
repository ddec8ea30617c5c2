package dev.hopx.agent;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BoundedOutputTest {
  private static BoundedOutput of(int limit, String... pieces) {
    BoundedOutput output = new BoundedOutput(limit);
    for (String piece : pieces) {
      byte[] bytes = piece.getBytes(StandardCharsets.UTF_8);
      output.write(bytes, 0, bytes.length);
    }
    return output;
  }

  @Test
  void keepsEverythingUpToTheLimit() {
    BoundedOutput output = of(10, "01234", "56789");

    assertThat(output.text()).isEqualTo("0123456789");
    assertThat(output.isTruncated()).isFalse();
    assertThat(of(10).text()).isEmpty();
  }

  @Test
  void oneByteMoreLeavesOutTheMiddle() {
    BoundedOutput output = of(10, "0123456789", "a");

    assertThat(output.isTruncated()).isTrue();
    assertThat(output.text()).isEqualTo("01234\n[… 1 bytes left out …]\n6789a");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, 7, 64, 1000})
  void headAndTailAreRightWhateverThePieces(int piece) {
    byte[] all = new byte[100_000];
    new Random(piece).nextBytes(all);
    for (int index = 0; index < all.length; index++) {
      all[index] = (byte) ('a' + (all[index] & 15));
    }
    BoundedOutput output = new BoundedOutput(20_001);
    for (int start = 0; start < all.length; start += piece) {
      output.write(all, start, Math.min(piece, all.length - start));
    }
    String text = new String(all, StandardCharsets.US_ASCII);

    assertThat(output.text())
        .isEqualTo(
            text.substring(0, 10_000)
                + "\n[… 79999 bytes left out …]\n"
                + text.substring(all.length - 10_001));
    assertThat(output.total()).isEqualTo(all.length);
  }

  @Test
  void noCharacterIsSplit() {
    for (int shift = 0; shift < 8; shift++) {
      String text = "x".repeat(shift) + "é€🤣".repeat(20);
      BoundedOutput output = of(50, text);

      assertThat(output.text()).as("shift %d", shift).doesNotContain("\uFFFD");
      int marker = output.text().indexOf('\n');
      assertThat(text).startsWith(output.text().substring(0, marker));
    }
  }

  @Test
  void aCharacterInTwoPiecesIsOne() {
    byte[] bytes = "café".getBytes(StandardCharsets.UTF_8);
    BoundedOutput output = new BoundedOutput(100);
    output.write(bytes, 0, 4);
    output.write(bytes, 4, 1);

    assertThat(output.text()).isEqualTo("café");
    BoundedOutput invalid = new BoundedOutput(100);
    invalid.write(new byte[] {(byte) 0xFF, 0, (byte) 0xC3}, 0, 3);
    assertThat(invalid.text()).isEqualTo("\uFFFD\0\uFFFD");
  }
}
