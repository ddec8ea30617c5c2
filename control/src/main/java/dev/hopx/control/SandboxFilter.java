package dev.hopx.control;

import java.util.Optional;

/** Which sandboxes a listing is about; both conditions together. */
public record SandboxFilter(Optional<SandboxStatus> status, Optional<String> region) {
  public static final SandboxFilter ALL = new SandboxFilter(Optional.empty(), Optional.empty());
}
