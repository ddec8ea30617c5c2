package dev.hopx.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class AptSourcesTest {
  private static final String KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";

  @TempDir Path etcApt;

  @BeforeEach
  void directory() throws IOException {
    Files.createDirectory(etcApt.resolve("sources.list.d"));
  }

  @Test
  void debianTwelveInDeb822() throws IOException {
    write(
        "sources.list.d/debian.sources",
        """
        Types: deb
        # a comment inside
        URIs: http://mirror.example/debian
        Suites: bookworm bookworm-updates bookworm-backports
        Components: main contrib
        Signed-By: %s

        Types: deb deb-src
        URIs: http://mirror.example/debian-security
        Suites: bookworm-security
        Components: main
        Signed-By: %s
        """
            .formatted(KEYRING, KEYRING));
    assertThat(trixie())
        .containsExactly(
            source("http://mirror.example/debian", List.of("trixie", "trixie-updates"), KEYRING),
            source("http://mirror.example/debian-security", List.of("trixie-security"), KEYRING));
  }

  @Test
  void oneLineForms() throws IOException {
    write(
        "sources.list",
        """
        # deb http://commented.example/debian bookworm main
        deb http://mirror.example/debian/ bookworm main contrib # trailing
        deb-src http://mirror.example/debian bookworm main
        deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \
        https://mirror.example/debian-security stable-security main
        deb\thttp://old.example/debian-security buster/updates main
        deb cdrom:[Debian 12]/ bookworm main
        """);
    assertThat(trixie())
        .containsExactly(
            source("http://mirror.example/debian/", List.of("trixie"), ""),
            source("https://mirror.example/debian-security", List.of("trixie-security"), KEYRING),
            source("http://old.example/debian-security", List.of("trixie-security"), ""));
  }

  @Test
  void otherArchivesAreNotDebian() throws IOException {
    write("sources.list", "deb http://mirror.example/debian stable main\n");
    write("sources.list.d/a.list", "deb https://a.example/linux/debian bookworm stable\n");
    write("sources.list.d/b.list", "deb https://b.example/node_18.x bookworm main\n");
    write("sources.list.d/c.list", "deb https://c.example/apt cloud-sdk-bookworm main\n");
    write("sources.list.d/d.list.disabled", "deb http://d.example/debian bookworm main\n");
    write(
        "sources.list.d/e.sources",
        "Enabled: no\nTypes: deb\nURIs: http://e.example/debian\nSuites: sid\nComponents: main\n");
    assertThat(trixie())
        .containsExactly(source("http://mirror.example/debian", List.of("trixie"), ""));
  }

  @Test
  void aPrivateMirrorIsKnownByItsKeyRing() throws IOException {
    write(
        "sources.list",
        "deb [signed-by=" + KEYRING + "] https://proxy.example/repository/x bookworm main\n");
    assertThat(trixie())
        .containsExactly(source("https://proxy.example/repository/x", List.of("trixie"), KEYRING));
  }

  @Test
  void mirrorListsOfCloudImagesAreResolved() throws IOException {
    Path list = etcApt.resolve("mirrors-debian.list");
    Files.writeString(list, "# comment\nhttps://one.example/debian\tpriority:1\n\n");
    write(
        "sources.list.d/debian.sources",
        "Types: deb\nURIs: mirror+file://%s\nSuites: trixie\nComponents: main\n".formatted(list));
    assertThat(trixie())
        .containsExactly(source("https://one.example/debian", List.of("trixie"), ""));
  }

  @Test
  void anInlineKeyIsKeptWhole() throws IOException {
    write(
        "sources.list.d/debian.sources",
        """
        Types: deb
        URIs: http://mirror.example/debian
        Suites: trixie
        Components: main
        Signed-By:
         -----BEGIN PGP PUBLIC KEY BLOCK-----
         .
         mDMEY865UxYJ
         -----END PGP PUBLIC KEY BLOCK-----
        """);
    List<AptSource> again = AptSources.parseStanzas(trixie().getFirst().render().lines().toList());
    assertThat(again).isEqualTo(trixie());
    assertThat(again.getFirst().signedBy()).contains("\n .\n mDMEY865UxYJ\n");
  }

  @Test
  void aGuestSeesNoPassword() {
    AptSource source =
        source("https://user:pa%40ss@mirror.example:8443/debian", List.of("trixie"), KEYRING);
    assertThat(source.withoutCredentials().render())
        .contains("URIs: https://mirror.example:8443/debian\n")
        .doesNotContain("user", "pa%40ss");
  }

  @Test
  void noMirrorSaysWhatToDo() throws IOException {
    write("sources.list", "deb https://b.example/node_18.x nodistro main\n");
    assertThatThrownBy(this::trixie)
        .isInstanceOf(TemplateException.class)
        .hasMessageContaining("No Debian mirror")
        .hasMessageContaining("debian.sources");
  }

  @Test
  void securityAloneIsNoMirror() throws IOException {
    write("sources.list", "deb http://mirror.example/debian-security trixie-security main\n");
    assertThatThrownBy(this::trixie).isInstanceOf(TemplateException.class);
  }

  private List<AptSource> trixie() {
    return AptSources.forRelease(etcApt, "trixie");
  }

  private static AptSource source(String uri, List<String> suites, String signedBy) {
    return new AptSource(List.of(uri), suites, List.of("main"), signedBy);
  }

  private void write(String name, String content) throws IOException {
    Files.writeString(etcApt.resolve(name), content);
  }
}
