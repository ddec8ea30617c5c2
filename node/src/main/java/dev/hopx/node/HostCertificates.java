package dev.hopx.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The certificates this host trusts, as one file of PEM, read again when it changes. */
final class HostCertificates {
  /** Where distributions keep the bundle; the first one is also where our templates have it. */
  private static final List<Path> PLACES =
      List.of(
          Path.of("/etc/ssl/certs/ca-certificates.crt"),
          Path.of("/etc/pki/tls/certs/ca-bundle.crt"),
          Path.of("/etc/ssl/ca-bundle.pem"),
          Path.of("/etc/ssl/cert.pem"));

  /** In the guest, relative to its root. */
  static final String GUEST_BUNDLE = "etc/ssl/certs/ca-certificates.crt";

  private record Version(Path file, long modified, long size) {}

  private static final class Loaded {
    private final Version version;
    private final byte[] content;

    Loaded(Version version, byte[] content) {
      this.version = version;
      this.content = content;
    }
  }

  private volatile @Nullable Loaded loaded;

  /** Empty when this host has no bundle. */
  Optional<byte[]> bundle() {
    for (Path place : PLACES) {
      try {
        if (Files.isRegularFile(place)) {
          return Optional.of(load(place));
        }
      } catch (IOException e) {
        throw new NodeException(
            "Cannot read the host's certificates in " + place + " (trust-host-certificates)", e);
      }
    }
    return Optional.empty();
  }

  private byte[] load(Path file) throws IOException {
    Version version =
        new Version(file, Files.getLastModifiedTime(file).toMillis(), Files.size(file));
    Loaded known = loaded;
    if (known != null && known.version.equals(version)) {
      return known.content;
    }
    byte[] content = Files.readAllBytes(file);
    loaded = new Loaded(version, content);
    return content;
  }
}
