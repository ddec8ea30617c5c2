package dev.hopx.node;

/** How strongly a sandbox is separated; part of its record, never degraded silently. */
public enum IsolationLevel {
  /** User namespace with a uid range of its own (lower layer idmapped), all namespaces, seccomp. */
  CONTAINER_PRIVATE_IDS("container");

  private final String wireName;

  IsolationLevel(String wireName) {
    this.wireName = wireName;
  }

  public String wireName() {
    return wireName;
  }
}
