package dev.hopx.template;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class HostAptTest {
  @TempDir Path etcApt;

  @Test
  void proxiesAndTimeOutsAreTakenOverAndNothingElse() {
    List<String> dump =
        List.of(
            "APT::Architecture \"amd64\";",
            "Acquire::http \"\";",
            "Acquire::http::Proxy \"http://user:secret@proxy.example:3128\";",
            "Acquire::http::Proxy::mirror.example \"DIRECT\";",
            "Acquire::https::Proxy \"\";",
            "Acquire::Retries \"5\";",
            "DPkg::Post-Invoke:: \"rm -rf /\";",
            "Acquire::Languages:: \"none\";");
    assertThat(HostApt.takenOver(dump, etcApt))
        .containsExactly(
            "Acquire::http::Proxy \"http://user:secret@proxy.example:3128\";",
            "Acquire::http::Proxy::mirror.example \"DIRECT\";",
            "Acquire::Retries \"5\";");
  }

  @Test
  void downloadsAreRetriedAndCredentialsFound() throws IOException {
    Files.createDirectory(etcApt.resolve("auth.conf.d"));
    assertThat(HostApt.takenOver(List.of(), etcApt))
        .containsExactly(
            "Acquire::Retries \"3\";",
            "Dir::Etc::netrcparts \"" + etcApt.resolve("auth.conf.d") + "\";");
  }
}
