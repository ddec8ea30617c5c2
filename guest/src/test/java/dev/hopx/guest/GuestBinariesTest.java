package dev.hopx.guest;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class GuestBinariesTest {
  @Test
  void extractsProgramsThatCanBeRun(@TempDir Path directory) throws IOException {
    GuestBinaries binaries = GuestBinaries.extractTo(directory.resolve("made/bin"));
    assertThat(binaries.init()).isExecutable();
    assertThat(binaries.host()).isExecutable();
    assertThat(Files.size(binaries.seccompFilter()) % 8).as("size in instructions").isZero();
    assertThat(binaries.seccompFilter()).isNotEmptyFile();
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(binaries.init())))
        .isEqualTo("rwxr-xr-x");
    try (Stream<Path> files = Files.list(directory.resolve("made/bin"))) {
      assertThat(files).hasSize(3);
    }
  }

  @Test
  void leavesWhatIsThereAlready(@TempDir Path directory) throws IOException {
    GuestBinaries binaries = GuestBinaries.extractTo(directory);
    Object inode = Files.getAttribute(binaries.init(), "unix:ino");
    GuestBinaries.extractTo(directory);
    assertThat(Files.getAttribute(binaries.init(), "unix:ino")).isEqualTo(inode);
  }

  @Test
  void replacesWhatIsOldButNotWhatIsLinkedToIt(@TempDir Path directory) throws IOException {
    GuestBinaries binaries = GuestBinaries.extractTo(directory);
    Files.writeString(binaries.init(), "old");
    Path link = Files.createLink(directory.resolve("of-a-sandbox"), binaries.init());
    GuestBinaries.extractTo(directory);
    assertThat(link).hasContent("old");
    assertThat(Files.size(binaries.init())).isGreaterThan(10_000);
  }
}
