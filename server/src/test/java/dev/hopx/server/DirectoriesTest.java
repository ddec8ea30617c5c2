package dev.hopx.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class DirectoriesTest {
  @TempDir Path directory = Path.of("");

  @Test
  void makesBothForTheOwnerAloneAndTellsTheProcess() throws IOException {
    Path data = directory.resolve("a/data");
    Path run = directory.resolve("b/run");
    try (Directories taken = Directories.take(data, run)) {
      assertThat(taken).isNotNull();
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(data)))
          .isEqualTo("rwx------");
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(run)))
          .isEqualTo("rwx------");
      assertThat(run.resolve("server.pid")).hasContent(ProcessHandle.current().pid() + "\n");
    }
    assertThat(run.resolve("server.pid")).doesNotExist();
    try (Directories again = Directories.take(data, run)) {
      assertThat(again).isNotNull();
    }
  }

  @Test
  void saysWhatCannotBeMade() throws IOException {
    Path file = Files.createFile(directory.resolve("file"));
    assertThatThrownBy(() -> Directories.take(file, directory.resolve("run")))
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("data-dir")
        .hasMessageContaining(file.toString());
    assertThatThrownBy(() -> Directories.take(directory.resolve("data"), file.resolve("run")))
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("run-dir");
  }
}
