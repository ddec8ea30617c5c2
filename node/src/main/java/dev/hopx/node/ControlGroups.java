package dev.hopx.node;

import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.Set;

/** The control groups of this node: {@code /<instance>/<sandbox id>} in every hierarchy. */
final class ControlGroups {
  private final ControlGroupLayout layout;
  private final String instance;

  ControlGroups(ControlGroupLayout layout, String instance) {
    this.layout = layout;
    this.instance = instance;
  }

  /**
   * Makes sure that limits can be set at all, so that not the first creation has to find out.
   *
   * @throws NodeException saying how to mend it
   */
  void prepare() {
    if (layout.unified()) {
      layout.roots().forEach(ControllerSwitch::enableRoot);
    }
  }

  SandboxGroups of(SandboxId id) {
    return new SandboxGroups(layout, instance, id);
  }

  /** Ids of the sandboxes that have control groups, living or not. */
  Set<SandboxId> sandboxes() {
    Set<SandboxId> ids = new LinkedHashSet<>();
    for (Path place : layout.places()) {
      for (Path group : ControlGroupFiles.children(place.resolve(instance))) {
        String name = group.getFileName().toString();
        if (SandboxId.isValid(name)) {
          ids.add(new SandboxId(name));
        }
      }
    }
    return ids;
  }

  /** Removes the instance's own groups where no sandbox is left in them. */
  void removeInstance() {
    for (Path place : layout.places()) {
      Path group = place.resolve(instance);
      if (ControlGroupFiles.children(group).isEmpty()) {
        ControlGroupFiles.remove(group);
      }
    }
  }
}
