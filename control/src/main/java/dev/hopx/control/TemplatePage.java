package dev.hopx.control;

import dev.hopx.api.ApiException;
import dev.hopx.template.Template;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Optional;

/** A part of the list of templates, which has a stable order; a cursor names the last one's id. */
record TemplatePage(List<Template> templates, Optional<String> nextCursor) {
  static TemplatePage of(List<Template> all, Optional<String> cursor, int limit) {
    int from = cursor.map(text -> behind(all, text)).orElse(0);
    int to = (int) Math.min((long) from + limit, all.size());
    List<Template> page = all.subList(from, to);
    return new TemplatePage(
        page, to < all.size() ? Optional.of(encode(page.getLast().id())) : Optional.empty());
  }

  private static int behind(List<Template> all, String cursor) {
    for (int i = 0; i < all.size(); i++) {
      if (encode(all.get(i).id()).equals(cursor)) {
        return i + 1;
      }
    }
    throw ApiException.invalidField("cursor", "use next_cursor of the page before");
  }

  private static String encode(String id) {
    return Base64.getUrlEncoder()
        .withoutPadding()
        .encodeToString(id.getBytes(StandardCharsets.UTF_8));
  }
}
