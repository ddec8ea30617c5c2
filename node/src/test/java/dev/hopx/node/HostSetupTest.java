package dev.hopx.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class HostSetupTest {
  @Test
  void aRunDirectoryMountedNoexecRunsProgramsAllTheSame(@TempDir Path mount) throws Exception {
    HostHelperLab.assumeRoot();
    HostHelperLab.run("mount", "-t", "tmpfs", "-o", "noexec,nosuid,nodev", "t", mount.toString());
    Path run = Files.createDirectory(mount.resolve("hopx"));
    try {
      Path program = run.resolve("true");
      Files.copy(Path.of("/bin/true"), program, StandardCopyOption.COPY_ATTRIBUTES);
      HostSetup.allowPrograms(run);
      HostHelperLab.run(program.toString());
      HostSetup.allowPrograms(run);
      assertThat(MountTable.read().entries())
          .filteredOn(entry -> entry.mountPoint().equals(run))
          .as("once is enough")
          .hasSize(1);
      assertThat(MountTable.read().of(run).options()).contains("nosuid", "nodev");
    } finally {
      HostHelperLab.run("umount", "--recursive", mount.toString());
    }
  }

  @Test
  void hardLimitsAreRead() {
    assertThat(
            HostLimits.parse(
                List.of(
                    "Limit                     Soft Limit           Hard Limit           Units",
                    "Max open files            1024                 20000                files")))
        .isEqualTo(new HostLimits(20_000));
    assertThat(HostLimits.parse(List.of("Max open files  1024  unlimited  files")).openFiles())
        .isEqualTo(Long.MAX_VALUE);
  }

  @Test
  void processesAreKnownByTheirStart() {
    ProcessIdentity self = ProcessIdentity.of(ProcessHandle.current().pid()).orElseThrow();
    assertThat(self.isAlive()).isTrue();
    assertThat(new ProcessIdentity(self.pid(), self.startTime() + 1).isAlive()).isFalse();
    assertThat(ProcessIdentity.of(Integer.MAX_VALUE)).isEmpty();
  }

  @Test
  void tagsGoThereAndBack() {
    ExecutionTag tag = new ExecutionTag(1_764_500_000_000L, "user's own x1 tag");
    assertThat(ExecutionTag.parse(tag.text())).contains(tag);
    assertThat(tag.text().length() - tag.tag().length())
        .isLessThanOrEqualTo(ExecutionTag.MAX_PREFIX_BYTES);
    assertThat(ExecutionTag.parse("x no number")).isEmpty();
    assertThat(ExecutionTag.parse("")).isEmpty();
  }
}
