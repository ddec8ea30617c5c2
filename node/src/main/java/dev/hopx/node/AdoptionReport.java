package dev.hopx.node;

import java.util.List;

/**
 * What a node found of an earlier server when it started.
 *
 * @param adopted sandboxes that go on
 * @param removed sandboxes that were dead or half made, and are gone now
 * @param problems what could not be adopted or removed, in words
 */
public record AdoptionReport(
    List<SandboxId> adopted, List<SandboxId> removed, List<String> problems) {
  public AdoptionReport {
    adopted = List.copyOf(adopted);
    removed = List.copyOf(removed);
    problems = List.copyOf(problems);
  }
}
