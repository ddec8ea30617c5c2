package dev.hopx.template;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.StringJoiner;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One source of binary packages.
 *
 * @param uris mirrors, tried in this order by apt
 * @param signedBy value of Signed-By: a key ring's path, fingerprints or an inline key (its lines
 *     joined by newlines); empty if the source names none
 */
record AptSource(List<String> uris, List<String> suites, List<String> components, String signedBy) {
  // scheme://user:password@host: what stands between the slashes and the last @ of the authority.
  private static final Pattern USER_INFORMATION = Pattern.compile("^([a-z+]+://)[^/]*@");

  AptSource {
    uris = List.copyOf(uris);
    suites = List.copyOf(suites);
    components = List.copyOf(components);
  }

  /** The same mirrors with user names and passwords taken out: what a guest may see. */
  AptSource withoutCredentials() {
    Set<String> clean = new LinkedHashSet<>();
    for (String uri : uris) {
      Matcher matcher = USER_INFORMATION.matcher(uri);
      clean.add(matcher.replaceFirst("$1"));
    }
    return new AptSource(List.copyOf(clean), suites, components, signedBy);
  }

  AptSource signedBy(String value) {
    return new AptSource(uris, suites, components, value);
  }

  /** A stanza of a {@code .sources} file. */
  String render() {
    StringJoiner stanza = new StringJoiner("\n", "", "\n");
    stanza.add("Types: deb");
    stanza.add("URIs: " + String.join(" ", uris));
    stanza.add("Suites: " + String.join(" ", suites));
    stanza.add("Components: " + String.join(" ", components));
    if (!signedBy.isEmpty()) {
      stanza.add("Signed-By: " + signedBy);
    }
    return stanza.toString();
  }
}
