package dev.hopx.control;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.time.InstantSource;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jdbi.v3.core.Handle;

/**
 * API keys: {@code hopx_live_}, 12 letters or digits that name the key, a dot, and 32 random bytes
 * as base64url. A key is shown once; kept is its SHA-256, which is enough for a secret of 256
 * random bits. Thread-safe.
 */
public final class ApiKeys {
  static final long BOOTSTRAP_ORGANIZATION = 1;
  static final long BOOTSTRAP_ACCOUNT = 1;

  static final int ID_LENGTH = 12;
  static final int SECRET_BYTES = 32;

  private static final Pattern FORM =
      Pattern.compile("hopx_live_([A-Za-z0-9]{12})\\.[A-Za-z0-9_-]{43}");
  private static final String ALPHANUMERICS =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

  private final Store store;
  private final InstantSource clock;
  private final SecureRandom random = new SecureRandom();

  public ApiKeys(Store store, InstantSource clock) {
    this.store = store;
    this.clock = clock;
  }

  /**
   * Makes the first organisation and the admin's account where there are none, and sees to it that
   * {@code adminKeyFile} (0600) holds a valid key of the admin. When it does not, a new key is made
   * and those made here before are revoked.
   */
  public void bootstrap(Path adminKeyFile) {
    if (SecretFile.read(adminKeyFile).flatMap(this::authenticate).isPresent()) {
      return;
    }
    long now = clock.millis();
    String key = newKey();
    store.write(
        handle -> {
          createAdmin(handle, now);
          handle
              .createUpdate(
                  "UPDATE api_keys SET revoked_at = :now WHERE bootstrap = TRUE AND revoked_at IS"
                      + " NULL")
              .bind("now", now)
              .execute();
          return insert(handle, key, now);
        });
    SecretFile.write(adminKeyFile, key);
  }

  /** Who presents {@code key}; empty when it is unknown, revoked, past its end or no key at all. */
  public Optional<Caller> authenticate(String key) {
    var form = FORM.matcher(key);
    if (!form.matches()) {
      return Optional.empty();
    }
    String id = form.group(1);
    return store
        .read(handle -> find(handle, id, clock.millis()))
        .filter(stored -> isEqual(stored.digest(), digest(key)))
        .map(stored -> new Caller(stored.organizationId(), id));
  }

  private static Optional<StoredKey> find(Handle handle, String id, long now) {
    return handle
        .createQuery(
            "SELECT organization_id, digest FROM api_keys WHERE id = :id AND revoked_at IS NULL AND"
                + " (expires_at IS NULL OR expires_at > :now)")
        .bind("id", id)
        .bind("now", now)
        .map((row, _) -> new StoredKey(row.getLong("organization_id"), row.getString("digest")))
        .findOne();
  }

  private static void createAdmin(Handle handle, long now) {
    handle
        .createUpdate(
            "INSERT INTO organizations (id, name, created_at) VALUES (:id, 'default', :now) ON"
                + " CONFLICT (id) DO NOTHING")
        .bind("id", BOOTSTRAP_ORGANIZATION)
        .bind("now", now)
        .execute();
    handle
        .createUpdate(
            "INSERT INTO accounts (id, name, created_at) VALUES (:id, 'admin', :now) ON CONFLICT"
                + " (id) DO NOTHING")
        .bind("id", BOOTSTRAP_ACCOUNT)
        .bind("now", now)
        .execute();
    handle
        .createUpdate(
            "INSERT INTO memberships (organization_id, account_id, role) VALUES (:organization,"
                + " :account, 'owner') ON CONFLICT (organization_id, account_id) DO NOTHING")
        .bind("organization", BOOTSTRAP_ORGANIZATION)
        .bind("account", BOOTSTRAP_ACCOUNT)
        .execute();
  }

  private static int insert(Handle handle, String key, long now) {
    return handle
        .createUpdate(
            "INSERT INTO api_keys (id, organization_id, account_id, name, bootstrap, digest,"
                + " created_at) VALUES (:id, :organization, :account, 'admin', TRUE, :digest,"
                + " :now)")
        .bind("id", key.substring("hopx_live_".length(), key.indexOf('.')))
        .bind("organization", BOOTSTRAP_ORGANIZATION)
        .bind("account", BOOTSTRAP_ACCOUNT)
        .bind("digest", digest(key))
        .bind("now", now)
        .execute();
  }

  private String newKey() {
    StringBuilder key = new StringBuilder("hopx_live_");
    for (int i = 0; i < ID_LENGTH; i++) {
      key.append(ALPHANUMERICS.charAt(random.nextInt(ALPHANUMERICS.length())));
    }
    byte[] secret = new byte[SECRET_BYTES];
    random.nextBytes(secret);
    return key.append('.')
        .append(Base64.getUrlEncoder().withoutPadding().encodeToString(secret))
        .toString();
  }

  private static String digest(String key) {
    try {
      MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
      return HexFormat.of().formatHex(sha256.digest(key.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every Java has SHA-256", e);
    }
  }

  private static boolean isEqual(String left, String right) {
    return MessageDigest.isEqual(
        left.getBytes(StandardCharsets.US_ASCII), right.getBytes(StandardCharsets.US_ASCII));
  }

  private record StoredKey(long organizationId, String digest) {}
}
