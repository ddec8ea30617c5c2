package dev.hopx.node;

import static java.util.Objects.requireNonNull;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.regex.Pattern;

/**
 * How a {@link LocalNode} is set up. Make one with {@link #defaults} and change what differs.
 *
 * @param name of the node, a DNS label
 * @param dataDirectory absolute; survives a reboot
 * @param runDirectory absolute; may be emptied by a reboot; at most {@value
 *     #MAX_RUN_DIRECTORY_BYTES} bytes, because sockets lie below it
 * @param instance names the control groups, the nftables table and the network links: 1 to 8 lower
 *     case letters and digits that start with a letter
 * @param sandboxSubnet IPv4 network in CIDR form, /8 to /30; each sandbox takes one address of it
 * @param uidBase first host uid of the sandboxes' ranges; a multiple of 65,536
 * @param trustHostCertificates true: sandboxes trust what this host trusts
 * @param crun program name or path of the container runtime
 * @param startTimeout how long a container's start and the first word of its process 1 may take,
 *     each
 * @param diskQuota how the size of sandboxes' disks is held
 * @param admission when no further sandbox is made
 */
public record NodeOptions(
    String name,
    Path dataDirectory,
    Path runDirectory,
    String instance,
    String sandboxSubnet,
    long uidBase,
    boolean trustHostCertificates,
    String crun,
    Duration startTimeout,
    DiskQuota diskQuota,
    AdmissionLimits admission) {
  /** A socket path holds 107 bytes; this leaves room for {@code /sandboxes/<id>/guest/s}. */
  public static final int MAX_RUN_DIRECTORY_BYTES = 107 - "/sandboxes//guest/s".length() - 32;

  public static final String DEFAULT_INSTANCE = "hopx";
  public static final String DEFAULT_SUBNET = "10.213.0.0/16";

  /** Far above what distributions hand out, and all ranges of a /16 stay below 2^31. */
  public static final long DEFAULT_UID_BASE = 1_000_013_824L;

  private static final Pattern INSTANCE = Pattern.compile("[a-z][a-z0-9]{0,7}");
  private static final Pattern NAME = Pattern.compile("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?");

  public NodeOptions {
    requireNonNull(crun, "crun is null");
    requireNonNull(diskQuota, "diskQuota is null");
    requireNonNull(admission, "admission is null");
    require(NAME.matcher(name).matches(), "name must be a DNS label: " + name);
    require(dataDirectory.isAbsolute(), "data-dir must be absolute: " + dataDirectory);
    require(runDirectory.isAbsolute(), "run-dir must be absolute: " + runDirectory);
    require(
        runDirectory.toString().getBytes(StandardCharsets.UTF_8).length <= MAX_RUN_DIRECTORY_BYTES,
        "run-dir must be at most " + MAX_RUN_DIRECTORY_BYTES + " bytes long: " + runDirectory);
    require(
        INSTANCE.matcher(instance).matches(),
        "instance must be 1 to 8 lower-case letters and digits that start with a letter: "
            + instance);
    Subnet.parse(sandboxSubnet);
    require(
        uidBase >= IdRange.SIZE
            && uidBase % IdRange.SIZE == 0
            && uidBase <= IdRange.HIGHEST_ID + 1 - IdRange.SIZE,
        "uid-base must be a multiple of 65536 and leave a range of 65536 below 2^31: " + uidBase);
    require(startTimeout.isPositive(), "start timeout must be positive: " + startTimeout);
  }

  /** Options with the documented defaults for all but the two directories. */
  public static NodeOptions defaults(Path dataDirectory, Path runDirectory) {
    return new NodeOptions(
        "local",
        dataDirectory.toAbsolutePath().normalize(),
        runDirectory.toAbsolutePath().normalize(),
        DEFAULT_INSTANCE,
        DEFAULT_SUBNET,
        DEFAULT_UID_BASE,
        true,
        "crun",
        Duration.ofSeconds(30),
        DiskQuota.LOOP,
        AdmissionLimits.DEFAULT);
  }

  public NodeOptions withName(String newName) {
    return new NodeOptions(
        newName,
        dataDirectory,
        runDirectory,
        instance,
        sandboxSubnet,
        uidBase,
        trustHostCertificates,
        crun,
        startTimeout,
        diskQuota,
        admission);
  }

  public NodeOptions withInstance(String newInstance) {
    return new NodeOptions(
        name,
        dataDirectory,
        runDirectory,
        newInstance,
        sandboxSubnet,
        uidBase,
        trustHostCertificates,
        crun,
        startTimeout,
        diskQuota,
        admission);
  }

  public NodeOptions withSandboxSubnet(String subnet) {
    return new NodeOptions(
        name,
        dataDirectory,
        runDirectory,
        instance,
        subnet,
        uidBase,
        trustHostCertificates,
        crun,
        startTimeout,
        diskQuota,
        admission);
  }

  public NodeOptions withUidBase(long newUidBase) {
    return new NodeOptions(
        name,
        dataDirectory,
        runDirectory,
        instance,
        sandboxSubnet,
        newUidBase,
        trustHostCertificates,
        crun,
        startTimeout,
        diskQuota,
        admission);
  }

  public NodeOptions withTrustHostCertificates(boolean trust) {
    return new NodeOptions(
        name,
        dataDirectory,
        runDirectory,
        instance,
        sandboxSubnet,
        uidBase,
        trust,
        crun,
        startTimeout,
        diskQuota,
        admission);
  }

  public NodeOptions withCrun(String newCrun) {
    return new NodeOptions(
        name,
        dataDirectory,
        runDirectory,
        instance,
        sandboxSubnet,
        uidBase,
        trustHostCertificates,
        newCrun,
        startTimeout,
        diskQuota,
        admission);
  }

  public NodeOptions withStartTimeout(Duration timeout) {
    return new NodeOptions(
        name,
        dataDirectory,
        runDirectory,
        instance,
        sandboxSubnet,
        uidBase,
        trustHostCertificates,
        crun,
        timeout,
        diskQuota,
        admission);
  }

  public NodeOptions withDiskQuota(DiskQuota quota) {
    return new NodeOptions(
        name,
        dataDirectory,
        runDirectory,
        instance,
        sandboxSubnet,
        uidBase,
        trustHostCertificates,
        crun,
        startTimeout,
        quota,
        admission);
  }

  public NodeOptions withAdmission(AdmissionLimits limits) {
    return new NodeOptions(
        name,
        dataDirectory,
        runDirectory,
        instance,
        sandboxSubnet,
        uidBase,
        trustHostCertificates,
        crun,
        startTimeout,
        diskQuota,
        limits);
  }

  private static void require(boolean condition, String message) {
    if (!condition) {
      throw new IllegalArgumentException(message);
    }
  }
}
