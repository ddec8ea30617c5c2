package dev.hopx.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What fails half-way leaves nothing and says what failed. */
final class CreationFailureTest {
  @Test
  void everyStepIsUndone() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      Set<CreationStep> failing = EnumSet.noneOf(CreationStep.class);
      LocalNode node =
          lab.start(
              step -> {
                if (failing.contains(step)) {
                  throw new NodeException("injected at " + step);
                }
              });
      for (CreationStep step : CreationStep.values()) {
        failing.add(step);
        SandboxSpec spec = lab.spec();
        assertThatThrownBy(() -> node.create(spec))
            .isInstanceOf(NodeException.class)
            .hasMessageContaining(spec.id().value())
            .hasMessageContaining(step.text() + " failed: injected at " + step)
            .satisfies(failure -> assertThat(failure.getSuppressed()).isEmpty());
        assertNothingLeft(lab);
        assertThat(node.list()).isEmpty();
        failing.clear();
      }
      SandboxSpec spec = lab.spec();
      Sandbox sandbox = node.create(spec);
      assertThat(NodeLab.sh(sandbox, "echo works").output()).isEqualTo("works");
      assertThat(((LocalSandbox) sandbox).init().isAlive()).isTrue();
    }
  }

  @Test
  void aMissingRuntimeIsNamedAtTheStart() {
    try (NodeLab lab = new NodeLab()) {
      assertThatThrownBy(() -> LocalNode.start(lab.options().withCrun("/nowhere/crun")))
          .isInstanceOf(NodeException.class)
          .hasMessageContaining("apt-get install crun")
          .hasMessageContaining("/nowhere/crun");
    }
  }

  @Test
  void theRuntimesWordsAreShown(@TempDir Path directory) throws Exception {
    Path broken = directory.resolve("crun");
    Files.writeString(
        broken,
        "#!/bin/sh\n[ \"$1\" = --version ] && echo broken 1 && exit\necho Oh dear >&2\nexit 3\n");
    assertThat(broken.toFile().setExecutable(true)).isTrue();
    try (NodeLab lab = new NodeLab()) {
      LocalNode node = lab.start(lab.options().withCrun(broken.toString()));
      assertThatThrownBy(() -> node.create(lab.spec()))
          .isInstanceOf(NodeException.class)
          .hasMessageContaining("starting the container failed")
          .hasMessageContaining("(3): Oh dear");
      assertNothingLeft(lab);
    }
  }

  @Test
  void aHangingRuntimeIsEnded(@TempDir Path directory) throws Exception {
    Path hanging = directory.resolve("crun");
    Files.writeString(
        hanging, "#!/bin/sh\n[ \"$1\" = --version ] && echo hanging 1 && exit\nsleep 1000\n");
    assertThat(hanging.toFile().setExecutable(true)).isTrue();
    try (NodeLab lab = new NodeLab()) {
      LocalNode node =
          lab.start(
              lab.options()
                  .withCrun(hanging.toString())
                  .withStartTimeout(java.time.Duration.ofSeconds(2)));
      assertThatThrownBy(() -> node.create(lab.spec()))
          .hasMessageContaining("did not start the container within 2 s");
      assertNothingLeft(lab);
      assertThat(ProcessHandle.current().descendants())
          .noneMatch(process -> process.info().commandLine().orElse("").contains("sleep 1000"));
    }
  }

  @Test
  void aMissingTemplateIsNamed() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      assertThatThrownBy(() -> lab.node().create(lab.spec(Path.of("/nowhere/root"))))
          .isInstanceOf(NodeException.class)
          .hasMessageContaining("/nowhere/root does not exist");
      assertNothingLeft(lab);
    }
  }

  @Test
  void aTemplateWithoutAnythingIsNoSandboxProblem(@TempDir Path empty) throws Exception {
    Files.setPosixFilePermissions(
        empty, java.nio.file.attribute.PosixFilePermissions.fromString("rwxr-xr-x"));
    try (NodeLab lab = new NodeLab()) {
      Sandbox sandbox = lab.node().create(lab.spec(empty));
      assertThatThrownBy(() -> NodeLab.sh(sandbox, "true"))
          .isInstanceOf(dev.hopx.channel.GuestException.class);
      lab.node().delete(sandbox.id());
      assertThat(lab.node().awaitRemovals(java.time.Duration.ofSeconds(30))).isTrue();
      assertNothingLeft(lab);
    }
  }

  private static void assertNothingLeft(NodeLab lab) throws Exception {
    assertThat(lab.mounts()).isEmpty();
    assertThat(lab.controlGroups()).isEmpty();
    assertThat(lab.links()).isEmpty();
    for (Path directory :
        new Path[] {
          SandboxPaths.dataDirectory(lab.options()),
          SandboxPaths.runDirectory(lab.options()),
          lab.options().runDirectory().resolve("crun")
        }) {
      if (Files.exists(directory)) {
        try (Stream<Path> entries = Files.list(directory)) {
          assertThat(entries).as("%s", directory).isEmpty();
        }
      }
    }
  }
}
