package dev.hopx.server;

import java.util.Map;

/**
 * The variables by which programs inside find the certificate authorities this host trusts; several
 * (Python's requests, Node) bring a list of their own and would fail behind an inspecting proxy.
 */
final class CertificateEnvironment {
  /** Where the node puts the host's bundle inside a sandbox. */
  private static final String BUNDLE = "/etc/ssl/certs/ca-certificates.crt";

  private CertificateEnvironment() {}

  static Map<String, String> of(boolean trustHostCertificates) {
    return trustHostCertificates
        ? Map.of(
            "SSL_CERT_FILE", BUNDLE,
            "REQUESTS_CA_BUNDLE", BUNDLE,
            "PIP_CERT", BUNDLE,
            "NODE_EXTRA_CA_CERTS", BUNDLE,
            "CURL_CA_BUNDLE", BUNDLE,
            "GIT_SSL_CAINFO", BUNDLE)
        : Map.of();
  }
}
