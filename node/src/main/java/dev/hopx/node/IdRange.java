package dev.hopx.node;

/** The host uids (and gids) of one sandbox: root inside is {@code base} outside. */
record IdRange(long base) {
  static final int SIZE = 65_536;

  /** Some programs keep a uid in a signed 32-bit number, the JDK among them. */
  static final long HIGHEST_ID = Integer.MAX_VALUE;

  /** The base as the JDK wants a file's owner. */
  int owner() {
    return Math.toIntExact(base);
  }
}
