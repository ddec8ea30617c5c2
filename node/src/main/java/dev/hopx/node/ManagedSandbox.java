package dev.hopx.node;

/** A sandbox as its node holds it, with processes or without. */
interface ManagedSandbox extends Sandbox {
  Slot slot();

  /** What the next start of the node would have to know. */
  StoredSandbox stored();

  /** Notices what nobody tells. */
  void sweep();

  /** Lets go of the sandbox without ending it. Idempotent. */
  void close();
}
