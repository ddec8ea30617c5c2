package dev.hopx.template;

import static java.util.Objects.requireNonNull;

/** A shell script that runs inside a root file system being built. */
record Script(String name, String content) {
  Script {
    requireNonNull(name, "name is null");
    requireNonNull(content, "content is null");
  }
}
