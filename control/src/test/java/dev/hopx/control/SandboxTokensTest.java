package dev.hopx.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Base64;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SandboxTokensTest {
  private static final String ID = "1763382095000abcde";

  @TempDir private Path directory;
  private final TestClock clock = new TestClock();

  @Test
  void looksLikeAJwtAndOpensItsSandboxOnly() {
    SandboxTokens tokens = open("token.key");
    SandboxToken token = tokens.issue(ID);
    assertThat(token.value()).startsWith("eyJ");
    assertThat(tokens.opens(token.value(), ID)).isTrue();
    assertThat(tokens.opens(token.value(), "1763382095000abcdf")).isFalse();
  }

  @Test
  void isAdvertisedForItsLifetime() {
    SandboxToken token = open("token.key").issue(ID);
    assertThat(token.expires())
        .isCloseTo(
            Instant.now().plus(24, ChronoUnit.HOURS),
            new org.assertj.core.data.TemporalUnitWithinOffset(5, ChronoUnit.SECONDS));
  }

  @Test
  void eachIsNewAndEndsLater() {
    SandboxTokens tokens = open("token.key");
    Set<String> values = new HashSet<>();
    Instant latest = Instant.EPOCH;
    for (int i = 0; i < 200; i++) {
      SandboxToken token = tokens.issue(ID);
      assertThat(token.expires()).isAfter(latest);
      assertThat(Timestamps.format(token.expires())).isGreaterThan(Timestamps.format(latest));
      latest = token.expires();
      values.add(token.value());
    }
    assertThat(values).hasSize(200);
  }

  @Test
  void isHonouredPastItsEndAndAcrossRestarts() {
    String token = open("token.key").issue(ID).value();
    clock.advance(Duration.ofDays(365));
    assertThat(open("token.key").opens(token, ID)).isTrue();
  }

  @Test
  void refusesForeignTamperedAndUnsignedTokens() {
    SandboxTokens tokens = open("token.key");
    String good = tokens.issue(ID).value();
    assertThat(tokens.opens(open("other.key").issue(ID).value(), ID)).isFalse();

    String[] parts = good.split("\\.");
    String payload = encode("{\"sub\":\"1763382095000zzzzz\",\"jti\":\"x\",\"exp\":99999999999}");
    assertThat(tokens.opens(parts[0] + "." + payload + "." + parts[2], "1763382095000zzzzz"))
        .isFalse();
    assertThat(tokens.opens(encode("{\"alg\":\"none\"}") + "." + parts[1] + ".", ID)).isFalse();
    assertThat(tokens.opens(encode("{\"alg\":\"HS512\"}") + "." + parts[1] + "." + parts[2], ID))
        .isFalse();
    for (String rubbish : new String[] {"", ".", "..", "eyJ", good + "x", "x" + good, "\0"}) {
      assertThat(tokens.opens(rubbish, ID)).as(rubbish).isFalse();
    }
  }

  @Test
  void signsAnEarlierTokenAgainLetterByLetter() {
    SandboxTokens tokens = open("token.key");
    SandboxToken token = tokens.issue(ID);
    assertThat(tokens.sign(ID, token.id(), token.expires()).value()).isEqualTo(token.value());
  }

  @Test
  void keyFileIsPrivateAndABrokenOneIsNamed() throws Exception {
    open("token.key");
    Path file = directory.resolve("token.key");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
    Files.writeString(file, "deadbeef");
    assertThatThrownBy(() -> open("token.key"))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("token.key")
        .hasMessageNotContaining("deadbeef");
  }

  @Test
  void neverShowsItsSecretAsText() {
    SandboxToken token = open("token.key").issue(ID);
    assertThat(token.toString()).doesNotContain(token.value());
  }

  private SandboxTokens open(String file) {
    return SandboxTokens.open(directory.resolve(file), Duration.ofHours(24), clock);
  }

  private static String encode(String json) {
    return Base64.getUrlEncoder()
        .withoutPadding()
        .encodeToString(json.getBytes(java.nio.charset.StandardCharsets.UTF_8));
  }
}
