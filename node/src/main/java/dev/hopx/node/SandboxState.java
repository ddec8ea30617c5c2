package dev.hopx.node;

/** What a sandbox of a node is doing. */
public enum SandboxState {
  RUNNING,
  /** All its processes are frozen where they were; its memory stays in use. */
  PAUSED,
  /** Its processes were ended on request; its files, slot and identity are kept for a start. */
  STOPPED,
  /** Its process 1 ended by itself, or it was deleted. */
  ENDED
}
