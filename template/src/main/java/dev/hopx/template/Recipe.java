package dev.hopx.template;

import static java.util.Objects.requireNonNull;

import dev.hopx.node.Resources;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * How a template is made and what it offers.
 *
 * @param suite the Debian release its packages come from
 * @param packages Debian package names
 * @param customizations run in this order in the finished root file system
 * @param verification prints {@code name=version} lines, ends with 0 only if every promise holds
 * @param buildMib MiB a build needs in the store, at most
 */
record Recipe(
    String id,
    String name,
    String displayName,
    String description,
    String category,
    Optional<String> language,
    List<String> features,
    List<String> tags,
    Resources resources,
    Map<String, String> environment,
    String suite,
    List<String> packages,
    List<Script> customizations,
    Script verification,
    int buildMib) {
  /** Counted up when the builder makes another root file system from the same recipe. */
  static final int FORMAT_VERSION = 1;

  Recipe {
    requireNonNull(id, "id is null");
    requireNonNull(name, "name is null");
    features = List.copyOf(features);
    tags = List.copyOf(tags);
    environment = Map.copyOf(environment);
    packages = List.copyOf(packages);
    customizations = List.copyOf(customizations);
    if (packages.isEmpty()) {
      throw new IllegalArgumentException("packages is empty");
    }
  }

  /**
   * Over everything that decides what is in the root file system, and nothing else: a better
   * description or another default limit needs no new build.
   *
   * @param architecture Debian's name, e.g. "amd64"
   */
  TemplateDigest digest(String architecture) {
    MessageDigest digest = sha256();
    add(digest, "hopx-template");
    add(digest, Integer.toString(FORMAT_VERSION));
    add(digest, architecture);
    add(digest, suite);
    packages.stream().sorted().distinct().forEach(name -> add(digest, name));
    for (Script script : customizations) {
      add(digest, script.content());
    }
    add(digest, verification.content());
    return new TemplateDigest(HexFormat.of().formatHex(digest.digest()));
  }

  // The length in front keeps "ab","c" apart from "a","bc".
  private static void add(MessageDigest digest, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    digest.update((bytes.length + ":").getBytes(StandardCharsets.US_ASCII));
    digest.update(bytes);
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every Java platform has SHA-256", e);
    }
  }
}
