package dev.hopx.template;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.junit.jupiter.api.Test;

final class BuildFailureTest {
  private final BuildFailure failure = new BuildFailure();

  @Test
  void aFailedDownloadNamesThePackage() {
    failure.accept(
        "E: Failed to fetch http://mirror.example/debian/pool/main/n/numpy/"
            + "python3-numpy_2.2.4%2bds-1_amd64.deb  404  Not Found [IP: 192.0.2.1 80]");
    failure.accept("E: Unable to fetch some archives, maybe run apt-get update?");
    assertThat(failure.describe())
        .isEqualTo("package python3-numpy cannot be downloaded: 404  Not Found [IP: 192.0.2.1 80]");
  }

  @Test
  void anUnknownPackageIsNamed() {
    failure.accept("E: Unable to locate package nosuch");
    failure.accept("E: Package 'virtual' has no installation candidate");
    assertThat(failure.describe())
        .isEqualTo("the mirror has no package nosuch; the mirror has no package virtual");
  }

  @Test
  void aFullDiskSaysSoWhateverElseFailed() {
    failure.accept("dpkg: error processing archive /var/cache/a_1_amd64.deb (--unpack):");
    failure.accept(" cannot copy extracted data: failed to write (No space left on device)");
    assertThat(failure.describe()).contains("disk is full");
  }

  @Test
  void anUnreachableMirrorIsNamed() {
    failure.accept(
        "W: Failed to fetch http://mirror.example/debian/dists/trixie/InRelease  "
            + "Could not resolve 'mirror.example'");
    assertThat(failure.describe())
        .contains("http://mirror.example/debian/dists/trixie/InRelease cannot be fetched")
        .contains("Could not resolve");
  }

  @Test
  void aWrongClockIsHintedAt() {
    failure.accept(
        "E: Release file for http://mirror.example/debian/dists/trixie/InRelease is not valid yet"
            + " (invalid for another 3h).");
    assertThat(failure.describe()).contains("clock");
  }

  @Test
  void anythingElseShowsTheLastLines() {
    for (int line = 1; line <= 100; line++) {
      failure.accept("line " + line);
    }
    assertThat(failure.describe()).contains("line 100", "line 89").doesNotContain("line 88\n");
  }

  @Test
  void aGoodBuildHasNoCause() throws IOException {
    BuildOutputTest.recorded().forEach(failure::accept);
    assertThat(failure.describe()).startsWith("the last lines were:");
  }
}
