package dev.hopx.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.channel.FileStat;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The pure parts: paths, modes, ranges, headers, names. */
class SmallPartsTest {
  @Test
  void pathsAreMadeAbsoluteAndPlain() {
    assertThat(GuestPath.parse("a").value()).isEqualTo("/workspace/a");
    assertThat(GuestPath.parse("/a//b/./c/").value()).isEqualTo("/a/b/c");
    assertThat(GuestPath.parse("/").value()).isEqualTo("/");
    assertThat(GuestPath.parse(".").value()).isEqualTo("/workspace");
    assertThat(GuestPath.parse("/a/../b").value()).as("only the guest knows").isEqualTo("/a/../b");
    assertThat(GuestPath.parse("/a/b").parent().value()).isEqualTo("/a");
    assertThat(GuestPath.parse("/a").parent().value()).isEqualTo("/");
    assertThat(GuestPath.parse("/a/b").name()).isEqualTo("b");
  }

  @Test
  void pathsHaveALimit() {
    String longest = "/" + "x".repeat(GuestPath.MAX_BYTES - 1);
    assertThat(GuestPath.parse(longest).value()).isEqualTo(longest);
    for (String invalid : List.of(longest + "x", "", "/a\0")) {
      assertThatThrownBy(() -> GuestPath.parse(invalid))
          .isInstanceOfSatisfying(
              ApiException.class,
              failure -> assertThat(failure.code()).isEqualTo(ErrorCode.INVALID_PATH));
    }
    for (String directory : List.of("/a/", "/a/.", "/a/..", ".", "..")) {
      assertThatThrownBy(() -> GuestPath.parseFile(directory)).isInstanceOf(ApiException.class);
    }
  }

  @Test
  void modesAreOctalText() {
    assertThat(FileModes.parse(Optional.of("0644"))).hasValue(0644);
    assertThat(FileModes.parse(Optional.of("755"))).hasValue(0755);
    assertThat(FileModes.parse(Optional.of("0o600"))).hasValue(0600);
    assertThat(FileModes.parse(Optional.of("07777"))).hasValue(07777);
    assertThat(FileModes.parse(Optional.empty())).isEmpty();
    for (String invalid : List.of("", "8", "rwx", "-644", "17777", "0x1ff")) {
      assertThatThrownBy(() -> FileModes.parse(Optional.of(invalid))).hasMessageContaining("mode");
    }
    assertThat(FileModes.permissions(FileStat.Kind.FILE, 0644)).isEqualTo("-rw-r--r--");
    assertThat(FileModes.permissions(FileStat.Kind.DIRECTORY, 01777)).isEqualTo("drwxrwxrwt");
    assertThat(FileModes.permissions(FileStat.Kind.LINK, 0777)).isEqualTo("lrwxrwxrwx");
    assertThat(FileModes.permissions(FileStat.Kind.FILE, 06644)).isEqualTo("-rwSr-Sr--");
    assertThat(FileModes.octal(07)).isEqualTo("0007");
  }

  @Test
  void ranges() {
    assertThat(ByteRange.isSingle("bytes=0-0")).isTrue();
    for (String other : List.of("bytes=", "bytes=-", "bytes=5-4", "bytes=0-1,3-4", "lines=1-2")) {
      assertThat(ByteRange.isSingle(other)).as(other).isFalse();
    }
    assertThat(ByteRange.within("bytes=0-0", 10)).contains(new ByteRange(0, 1));
    assertThat(ByteRange.within("bytes=5-", 10)).contains(new ByteRange(5, 5));
    assertThat(ByteRange.within("bytes=5-99", 10)).contains(new ByteRange(5, 5));
    assertThat(ByteRange.within("bytes=-3", 10)).contains(new ByteRange(7, 3));
    assertThat(ByteRange.within("bytes=-30", 10)).contains(new ByteRange(0, 10));
    assertThat(ByteRange.within("bytes=10-", 10)).isEmpty();
    assertThat(ByteRange.within("bytes=-0", 10)).isEmpty();
    assertThat(ByteRange.within("bytes=0-", 0)).isEmpty();
    assertThat(new ByteRange(5, 5).contentRange(10)).isEqualTo("bytes 5-9/10");
  }

  @Test
  void fileNamesInHeaders() {
    assertThat(ContentDisposition.attachment("a b.txt"))
        .isEqualTo("attachment; filename=\"a b.txt\"; filename*=UTF-8''a%20b.txt");
    assertThat(ContentDisposition.attachment("あ\"\r\n\\.txt"))
        .isEqualTo(
            "attachment; filename=\"_____.txt\"; filename*=UTF-8''%E3%81%82%22%0D%0A%5C.txt");
  }

  @Test
  void onlyCanonicalBase64IsEncodedOnceMore() {
    for (String trap : List.of("test", "abcd1234", "YQ==")) {
      byte[] content = trap.getBytes(StandardCharsets.UTF_8);
      assertThat(Base64.getDecoder().decode(Base64Trap.disarm(content))).isEqualTo(content);
    }
    for (String harmless : List.of("", "tes", "test\n", "a-b_", "YR==", "no base64")) {
      byte[] content = harmless.getBytes(StandardCharsets.UTF_8);
      assertThat(Base64Trap.disarm(content)).isEqualTo(content);
    }
  }

  @Test
  void secretNames() {
    for (String secret :
        List.of("API_KEY", "db_password", "Token", "AWS_SECRET", "X_CREDENTIALS")) {
      assertThat(EnvironmentRules.isSecret(secret)).as(secret).isTrue();
    }
    assertThat(EnvironmentRules.isSecret("PATH")).isFalse();
  }

  @Test
  void variablesThatCannotBeSavedAreNotAnInternalError() {
    EnvironmentFile file = new EnvironmentFile(Path.of("/dev/null"));
    assertThatThrownBy(() -> file.save(Map.of("A", "secret")))
        .isInstanceOfSatisfying(
            ApiException.class,
            failure -> assertThat(failure.code()).isEqualTo(ErrorCode.SERVICE_UNAVAILABLE))
        .hasMessageContaining("disk")
        .hasMessageNotContaining("secret");
  }

  @Test
  void durationsAsText() {
    assertThat(ForegroundRunner.seconds(Duration.ofSeconds(1))).isEqualTo("1 second");
    assertThat(ForegroundRunner.seconds(Duration.ofSeconds(2))).isEqualTo("2 seconds");
    assertThat(ForegroundRunner.seconds(Duration.ofMillis(1500))).isEqualTo("1.5 seconds");
    assertThat(StatusEndpoint.text(Duration.ofSeconds(3))).isEqualTo("3s");
    assertThat(StatusEndpoint.text(Duration.ofSeconds(3723))).isEqualTo("1h2m3s");
    assertThat(StatusEndpoint.text(Duration.ofHours(1))).isEqualTo("1h0m0s");
  }
}
