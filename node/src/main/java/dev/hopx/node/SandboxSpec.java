package dev.hopx.node;

import java.nio.file.Path;
import java.util.Map;

/**
 * What a sandbox is made of.
 *
 * @param template name and digest of the template, for the record
 * @param rootFileSystem the template's read-only root directory on the host
 * @param resources limits set by the kernel
 * @param internet false: no network at all but the guest channel
 * @param labels opaque, kept with the sandbox and given back after a restart
 */
public record SandboxSpec(
    SandboxId id,
    String template,
    Path rootFileSystem,
    Resources resources,
    boolean internet,
    Map<String, String> labels) {
  public SandboxSpec {
    labels = Map.copyOf(labels);
  }
}
