package dev.hopx.control;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.MACSigner;
import com.nimbusds.jose.crypto.MACVerifier;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.text.ParseException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Date;
import java.util.HexFormat;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Tokens that open the agent of one sandbox (decision 7, SEC-03).
 *
 * <p>A token says when it ends, and clients refresh it in time, but it is honoured until the
 * sandbox ends: the JavaScript client goes on using the token it began with. So nothing is revoked
 * and the time is never judged here; who asks has found the sandbox alive first. Thread-safe.
 */
public final class SandboxTokens {
  static final int KEY_BYTES = 32;
  private static final int TOKEN_ID_BYTES = 16;

  private final MACSigner signer;
  private final MACVerifier verifier;
  private final Duration lifetime;
  private final InstantSource clock;
  private final SecureRandom random = new SecureRandom();
  private final AtomicLong latestExpiryMillis = new AtomicLong();

  private SandboxTokens(byte[] key, Duration lifetime, InstantSource clock) {
    try {
      this.signer = new MACSigner(key);
      this.verifier = new MACVerifier(key);
    } catch (JOSEException e) {
      throw new IllegalStateException("HMAC-SHA256 is not available", e);
    }
    this.lifetime = lifetime;
    this.clock = clock;
  }

  /**
   * Opens the signing key, making it (0600) where there is none.
   *
   * @param lifetime advertised validity of a token
   * @throws java.io.UncheckedIOException when the file cannot be read or made
   * @throws IllegalStateException when the file holds no key
   */
  public static SandboxTokens open(Path keyFile, Duration lifetime, InstantSource clock) {
    byte[] key =
        SecretFile.read(keyFile)
            .map(text -> parseKey(keyFile, text))
            .orElseGet(() -> makeKey(keyFile));
    return new SandboxTokens(key, lifetime, clock);
  }

  /** A new token; its expiry is later, by a millisecond at least, than that of any before it. */
  public SandboxToken issue(String sandboxId) {
    byte[] id = new byte[TOKEN_ID_BYTES];
    random.nextBytes(id);
    long wanted = clock.instant().plus(lifetime).toEpochMilli();
    long expiry = latestExpiryMillis.updateAndGet(latest -> Math.max(wanted, latest + 1));
    return sign(sandboxId, HexFormat.of().formatHex(id), Instant.ofEpochMilli(expiry));
  }

  /** The token of an earlier answer once more, letter by letter. */
  SandboxToken sign(String sandboxId, String tokenId, Instant expires) {
    SignedJWT token =
        new SignedJWT(
            new JWSHeader(JWSAlgorithm.HS256),
            new JWTClaimsSet.Builder()
                .subject(sandboxId)
                .jwtID(tokenId)
                .issueTime(Date.from(expires.minus(lifetime)))
                .expirationTime(Date.from(expires))
                .build());
    try {
      token.sign(signer);
    } catch (JOSEException e) {
      throw new IllegalStateException("A token could not be signed", e);
    }
    return new SandboxToken(token.serialize(), tokenId, expires);
  }

  /** True when this server issued {@code token} for that very sandbox, whenever that was. */
  public boolean opens(String token, String sandboxId) {
    try {
      SignedJWT parsed = SignedJWT.parse(token);
      return JWSAlgorithm.HS256.equals(parsed.getHeader().getAlgorithm())
          && parsed.verify(verifier)
          && sandboxId.equals(parsed.getJWTClaimsSet().getSubject());
    } catch (ParseException | JOSEException e) {
      return false;
    }
  }

  private static byte[] parseKey(Path file, String text) {
    try {
      byte[] key = HexFormat.of().parseHex(text);
      if (key.length == KEY_BYTES) {
        return key;
      }
    } catch (IllegalArgumentException e) {
      // Said below, without the content.
    }
    throw new IllegalStateException(
        file
            + " holds no signing key of "
            + KEY_BYTES
            + " bytes in hexadecimal digits; restore it, or remove it to have a new one made"
            + " (clients must then refresh their sandbox tokens)");
  }

  private static byte[] makeKey(Path file) {
    byte[] key = new byte[KEY_BYTES];
    new SecureRandom().nextBytes(key);
    SecretFile.write(file, HexFormat.of().formatHex(key));
    return key;
  }
}
