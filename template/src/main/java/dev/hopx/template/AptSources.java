package dev.hopx.template;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The Debian mirrors this host is configured to use, in both forms apt knows (one line, and
 * deb822).
 *
 * <p>Templates come from the mirror the operator chose, of whatever release the host itself is.
 */
final class AptSources {
  private static final Set<String> RELEASES =
      Set.of(
          "buster",
          "bullseye",
          "bookworm",
          "trixie",
          "forky",
          "duke",
          "sid",
          "oldoldstable",
          "oldstable",
          "stable",
          "testing",
          "unstable");
  private static final Set<String> UNUSED_SUFFIXES =
      Set.of("backports", "backports-sloppy", "proposed-updates", "fasttrack", "debug");
  private static final String DEBIAN_KEYRING = "debian-archive-";
  private static final Pattern DEBIAN_PATH = Pattern.compile("(^|/)debian[^/]*(/|$)");

  private AptSources() {}

  /**
   * Mirrors of Debian's main component for another release.
   *
   * @param etcApt normally /etc/apt
   * @param release e.g. "trixie"
   * @throws TemplateException when the host names no Debian mirror
   */
  static List<AptSource> forRelease(Path etcApt, String release) {
    List<AptSource> result = new ArrayList<>();
    for (AptSource source : read(etcApt)) {
      Set<String> suites =
          source.suites().stream()
              .map(suite -> suiteOf(suite, release))
              .filter(suite -> !suite.isEmpty())
              .collect(Collectors.toCollection(LinkedHashSet::new));
      if (!source.components().contains("main") || suites.isEmpty() || !isDebian(source)) {
        continue;
      }
      AptSource swapped =
          new AptSource(source.uris(), List.copyOf(suites), List.of("main"), source.signedBy());
      if (!result.contains(swapped)) {
        result.add(swapped);
      }
    }
    if (result.stream().noneMatch(source -> source.suites().contains(release))) {
      throw new TemplateException(
          "No Debian mirror is configured in "
              + etcApt
              + ". Add a file sources.list.d/debian.sources with Types: deb, URIs: (your mirror),"
              + " Suites: "
              + release
              + ", Components: main and Signed-By:"
              + " /usr/share/keyrings/debian-archive-keyring.gpg");
    }
    return result;
  }

  /** Every enabled binary source with an address on the network, of Debian or not. */
  static List<AptSource> read(Path etcApt) {
    List<AptSource> sources = new ArrayList<>();
    try {
      Path single = etcApt.resolve("sources.list");
      if (Files.isRegularFile(single)) {
        sources.addAll(parseLines(lines(single)));
      }
      for (Path file : sorted(etcApt.resolve("sources.list.d"))) {
        String name = file.getFileName().toString();
        if (name.endsWith(".list")) {
          sources.addAll(parseLines(lines(file)));
        } else if (name.endsWith(".sources")) {
          sources.addAll(parseStanzas(lines(file)));
        }
      }
      return resolveMirrorLists(sources);
    } catch (IOException e) {
      throw new TemplateException("Cannot read apt's sources in " + etcApt + ": " + e, e);
    }
  }

  static List<AptSource> parseLines(List<String> lines) {
    List<AptSource> sources = new ArrayList<>();
    for (String line : lines) {
      String text = beforeComment(line).strip();
      if (!text.startsWith("deb ") && !text.startsWith("deb\t")) {
        continue;
      }
      text = text.substring(3).strip();
      String signedBy = "";
      if (text.startsWith("[")) {
        int end = text.indexOf(']');
        if (end < 0) {
          continue;
        }
        for (String option : words(text.substring(1, end))) {
          if (option.toLowerCase(Locale.ROOT).startsWith("signed-by=")) {
            signedBy = option.substring("signed-by=".length()).replace(',', ' ');
          }
        }
        text = text.substring(end + 1).strip();
      }
      List<String> words = words(text);
      if (words.size() >= 2) {
        sources.add(
            new AptSource(
                List.of(words.getFirst()),
                List.of(words.get(1)),
                words.subList(2, words.size()),
                signedBy));
      }
    }
    return sources;
  }

  static List<AptSource> parseStanzas(List<String> lines) {
    List<AptSource> sources = new ArrayList<>();
    Map<String, String> fields = new LinkedHashMap<>();
    String field = "";
    for (String line : lines) {
      if (line.startsWith("#")) {
        continue;
      }
      if (line.isBlank()) {
        addStanza(fields, sources);
        fields.clear();
        field = "";
      } else if (Character.isWhitespace(line.charAt(0))) {
        fields.computeIfPresent(field, (_, value) -> value + "\n" + line);
      } else if (line.indexOf(':') > 0) {
        int colon = line.indexOf(':');
        field = line.substring(0, colon).strip().toLowerCase(Locale.ROOT);
        fields.put(field, line.substring(colon + 1).strip());
      }
    }
    addStanza(fields, sources);
    return sources;
  }

  private static void addStanza(Map<String, String> fields, List<AptSource> sources) {
    boolean enabled =
        !Set.of("no", "false", "off", "0", "without", "disable")
            .contains(fields.getOrDefault("enabled", "yes").toLowerCase(Locale.ROOT));
    List<String> uris = words(fields.getOrDefault("uris", ""));
    List<String> suites = words(fields.getOrDefault("suites", ""));
    if (enabled
        && words(fields.getOrDefault("types", "")).contains("deb")
        && !uris.isEmpty()
        && !suites.isEmpty()) {
      sources.add(
          new AptSource(
              uris,
              suites,
              words(fields.getOrDefault("components", "")),
              fields.getOrDefault("signed-by", "")));
    }
  }

  // Cloud images name their mirrors in a list of its own, which does not exist in the guest.
  private static List<AptSource> resolveMirrorLists(List<AptSource> sources) throws IOException {
    List<AptSource> result = new ArrayList<>();
    for (AptSource source : sources) {
      Set<String> uris = new LinkedHashSet<>();
      for (String uri : source.uris()) {
        if (uri.startsWith("mirror+file:")) {
          Path list = Path.of("/" + uri.substring("mirror+file:".length()).replaceFirst("^/*", ""));
          if (Files.isRegularFile(list)) {
            for (String line : lines(list)) {
              words(beforeComment(line)).stream()
                  .limit(1)
                  .filter(AptSources::isOnNetwork)
                  .forEach(uris::add);
            }
          }
        } else if (isOnNetwork(uri)) {
          uris.add(uri);
        }
      }
      if (!uris.isEmpty()) {
        result.add(
            new AptSource(
                List.copyOf(uris), source.suites(), source.components(), source.signedBy()));
      }
    }
    return result;
  }

  private static boolean isOnNetwork(String uri) {
    return uri.startsWith("http://") || uri.startsWith("https://");
  }

  /** The suite of {@code release} that plays the part of this one; empty if none does. */
  private static String suiteOf(String suite, String release) {
    String name = suite.endsWith("/") ? suite.substring(0, suite.length() - 1) : suite;
    if (RELEASES.contains(name)) {
      return release;
    }
    // Until Debian 10 the security suite was called "buster/updates".
    if (name.endsWith("/updates") && RELEASES.contains(name.substring(0, name.indexOf('/')))) {
      return release + "-security";
    }
    int dash = name.indexOf('-');
    if (dash < 0 || !RELEASES.contains(name.substring(0, dash))) {
      return "";
    }
    String suffix = name.substring(dash + 1);
    if (UNUSED_SUFFIXES.contains(suffix)) {
      return "";
    }
    return suffix.equals("updates") || suffix.equals("security") ? release + "-" + suffix : "";
  }

  // Other archives also have a suite "bookworm" and a component "main".
  private static boolean isDebian(AptSource source) {
    return source.signedBy().contains(DEBIAN_KEYRING)
        || source.uris().stream()
            .allMatch(
                uri -> {
                  int path = uri.indexOf('/', uri.indexOf("://") + 3);
                  return path >= 0 && DEBIAN_PATH.matcher(uri.substring(path)).find();
                });
  }

  private static String beforeComment(String line) {
    int comment = line.indexOf('#');
    return comment < 0 ? line : line.substring(0, comment);
  }

  private static List<String> words(String text) {
    return text.isBlank() ? List.of() : List.of(text.strip().split("\\s+"));
  }

  private static List<String> lines(Path file) throws IOException {
    return Files.readAllLines(file, StandardCharsets.UTF_8);
  }

  private static List<Path> sorted(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      return List.of();
    }
    List<Path> files = new ArrayList<>();
    try (DirectoryStream<Path> stream = Files.newDirectoryStream(directory)) {
      stream.forEach(files::add);
    }
    files.sort(null);
    return files;
  }
}
