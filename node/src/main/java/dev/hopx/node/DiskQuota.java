package dev.hopx.node;

/** How the size of a sandbox's disk is held. */
public enum DiskQuota {
  /** Every sandbox has a file system of its own, in a sparse file on a loop device. */
  LOOP,

  /** Not at all: sandboxes share the file system of the data directory. */
  NONE
}
