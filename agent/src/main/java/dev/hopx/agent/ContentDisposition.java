package dev.hopx.agent;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/** File names in a header: plain ASCII, and exactly as of RFC 5987 (case D4). */
final class ContentDisposition {
  private static final String ATTRIBUTE_CHARACTERS = "!#$&+-.^_`|~";

  private static final HexFormat HEX = HexFormat.of().withUpperCase();

  private ContentDisposition() {}

  static String attachment(String fileName) {
    StringBuilder plain = new StringBuilder();
    fileName
        .codePoints()
        .forEach(
            point ->
                plain.append(
                    point >= 0x20 && point < 0x7F && point != '"' && point != '\\'
                        ? (char) point
                        : '_'));
    StringBuilder exact = new StringBuilder();
    for (byte value : fileName.getBytes(StandardCharsets.UTF_8)) {
      char character = (char) (value & 0xFF);
      boolean isPlain =
          (character >= '0' && character <= '9')
              || (character >= 'A' && character <= 'Z')
              || (character >= 'a' && character <= 'z')
              || ATTRIBUTE_CHARACTERS.indexOf(character) >= 0;
      if (isPlain) {
        exact.append(character);
      } else {
        exact.append('%').append(HEX.toHexDigits(value));
      }
    }
    return "attachment; filename=\"" + plain + "\"; filename*=UTF-8''" + exact;
  }
}
