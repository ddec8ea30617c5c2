package dev.hopx.http;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Decodes paths and queries. Strict: a broken escape or broken UTF-8 is the caller's error. */
final class PercentCoding {
  private PercentCoding() {}

  /** Decodes one path segment; {@code +} stays. */
  static String decodeSegment(String text) {
    return decode(text, false);
  }

  /** Decodes a query in the order of its parameters; {@code +} is a blank. */
  static Map<String, List<String>> decodeQuery(String query) {
    Map<String, List<String>> parameters = new LinkedHashMap<>();
    for (String pair : query.split("&")) {
      if (pair.isEmpty()) {
        continue;
      }
      int equals = pair.indexOf('=');
      String name = decode(equals < 0 ? pair : pair.substring(0, equals), true);
      String value = equals < 0 ? "" : decode(pair.substring(equals + 1), true);
      parameters.computeIfAbsent(name, key -> new ArrayList<>()).add(value);
    }
    parameters.replaceAll((name, values) -> List.copyOf(values));
    return Collections.unmodifiableMap(parameters);
  }

  private static String decode(String text, boolean plusIsBlank) {
    if (text.indexOf('%') < 0 && (!plusIsBlank || text.indexOf('+') < 0)) {
      return text;
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(text.length());
    int index = 0;
    while (index < text.length()) {
      char character = text.charAt(index);
      if (character == '%') {
        int high = index + 2 < text.length() ? digit(text.charAt(index + 1)) : -1;
        int low = index + 2 < text.length() ? digit(text.charAt(index + 2)) : -1;
        if (high < 0 || low < 0) {
          throw malformed("an incomplete percent escape");
        }
        bytes.write(high << 4 | low);
        index += 3;
      } else if (character == '+' && plusIsBlank) {
        bytes.write(' ');
        index++;
      } else {
        int next = text.offsetByCodePoints(index, 1);
        bytes.writeBytes(text.substring(index, next).getBytes(StandardCharsets.UTF_8));
        index = next;
      }
    }
    try {
      return StandardCharsets.UTF_8
          .newDecoder()
          .decode(ByteBuffer.wrap(bytes.toByteArray()))
          .toString();
    } catch (CharacterCodingException invalid) {
      throw malformed("bytes that are not UTF-8");
    }
  }

  private static int digit(char character) {
    return character < 128 ? Character.digit(character, 16) : -1;
  }

  private static ApiException malformed(String what) {
    return new ApiException(ErrorCode.INVALID_REQUEST, "The URL has " + what);
  }
}
