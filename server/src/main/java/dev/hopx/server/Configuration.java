package dev.hopx.server;

import ch.qos.logback.classic.Level;
import dev.hopx.node.AdmissionLimits;
import dev.hopx.node.DiskQuota;
import java.nio.file.Path;
import java.time.Duration;

/**
 * The server's settings, checked. See {@link ConfigurationKey} for their meaning.
 *
 * @param dataDir absolute
 * @param runDir absolute
 * @param templateStore absolute
 * @param host name or address
 * @param port 1 to 65535
 * @param uidBase first host uid
 * @param tokenLifetime at least a minute
 * @param maxJsonBody bytes, 1 to 2,147,483,647
 */
record Configuration(
    Path dataDir,
    Path runDir,
    Path templateStore,
    String host,
    int port,
    PortRange agentPorts,
    String instance,
    String sandboxSubnet,
    long uidBase,
    boolean trustHostCertificates,
    DiskQuota diskQuota,
    AdmissionLimits admission,
    String region,
    Duration tokenLifetime,
    long maxJsonBody,
    LogFormat logFormat,
    Level logLevel) {

  /** TCP ports, both ends inclusive. */
  record PortRange(int first, int last) {
    boolean contains(int port) {
      return first <= port && port <= last;
    }
  }

  /** Form of a log line. */
  enum LogFormat {
    TEXT,
    JSON
  }
}
