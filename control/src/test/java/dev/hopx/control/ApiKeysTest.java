package dev.hopx.control;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Locale;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ApiKeysTest {
  @TempDir private Path directory;
  private final TestClock clock = new TestClock();
  private Path adminKey;
  private Store store;
  private ApiKeys keys;

  @BeforeEach
  void open() {
    adminKey = directory.resolve("admin.key");
    store = Store.open(directory.resolve("hopx.db"));
    keys = new ApiKeys(store, clock);
    keys.bootstrap(adminKey);
  }

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void adminsKeyHasTheDocumentedFormAndIsPrivate() throws Exception {
    assertThat(readKey()).matches("hopx_live_[A-Za-z0-9]{12}\\.[A-Za-z0-9_-]{43}");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(adminKey)))
        .isEqualTo("rw-------");
    assertThat(keys.authenticate(readKey()))
        .hasValueSatisfying(caller -> assertThat(caller.organizationId()).isEqualTo(1));
  }

  @Test
  void onlyADigestIsKept() throws Exception {
    String secret = readKey().substring(readKey().indexOf('.') + 1);
    store.close();
    byte[] database = Files.readAllBytes(directory.resolve("hopx.db"));
    String text = new String(database, StandardCharsets.ISO_8859_1);
    assertThat(text).contains("api_keys").doesNotContain(secret);
  }

  @Test
  void anotherStartKeepsTheKey() {
    String key = readKey();
    keys.bootstrap(adminKey);
    assertThat(readKey()).isEqualTo(key);
    assertThat(keys.authenticate(key)).isPresent();
  }

  @Test
  void aRemovedFileMeansANewKeyAndAnEndOfTheOldOne() throws Exception {
    String old = readKey();
    Files.delete(adminKey);
    keys.bootstrap(adminKey);
    assertThat(readKey()).isNotEqualTo(old);
    assertThat(keys.authenticate(readKey())).isPresent();
    assertThat(keys.authenticate(old)).isEmpty();
  }

  @Test
  void aDamagedFileIsReplaced() throws Exception {
    Files.writeString(adminKey, "hopx_live_");
    keys.bootstrap(adminKey);
    assertThat(keys.authenticate(readKey())).isPresent();
  }

  @Test
  void refusesWhatIsNoKeyOrNotTheWholeKey() {
    String key = readKey();
    char last = key.charAt(key.length() - 1);
    String changed = key.substring(0, key.length() - 1) + (last == 'A' ? 'B' : 'A');
    for (String wrong :
        new String[] {
          "", "x", changed, key + "A", key.substring(1), key.toUpperCase(Locale.ROOT), key + "\n"
        }) {
      assertThat(keys.authenticate(wrong)).as(wrong).isEmpty();
    }
  }

  private String readKey() {
    return SecretFile.read(adminKey).orElseThrow();
  }
}
