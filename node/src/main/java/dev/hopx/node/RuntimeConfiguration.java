package dev.hopx.node;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.json.JsonMapper;

/**
 * The OCI {@code config.json} of a sandbox. What stands here is the wall: user namespace, all other
 * namespaces, the seccomp filter, no new privileges, few capabilities, masked and read-only paths,
 * a device list. Nothing of the host's environment and no secret gets in.
 */
final class RuntimeConfiguration {
  /** Where the guest sees process 1's program and the socket it dials. */
  static final String GUEST_DIRECTORY = "/.hopx";

  /** Terminals a sandbox can have open; the host has 4,096 for all (kernel.pty.max). */
  static final int MAX_TERMINALS = 128;

  static final long MAX_OPEN_FILES = 65_536;

  /** A filter compiled ahead; crun takes 20 ms to compile one from JSON at every start. */
  private static final String SECCOMP_ANNOTATION = "run.oci.seccomp_bpf_data";

  /** What apt-get, chown, su and a server on port 80 need; without effect outside the sandbox. */
  private static final List<String> CAPABILITIES =
      List.of(
          "CAP_CHOWN",
          "CAP_DAC_OVERRIDE",
          "CAP_FSETID",
          "CAP_FOWNER",
          "CAP_SETGID",
          "CAP_SETUID",
          "CAP_SETPCAP",
          "CAP_NET_BIND_SERVICE",
          "CAP_SYS_CHROOT",
          "CAP_KILL",
          "CAP_SETFCAP");

  private static final List<String> MASKED =
      List.of(
          "/proc/acpi",
          "/proc/asound",
          "/proc/config.gz",
          "/proc/kallsyms",
          "/proc/kcore",
          "/proc/keys",
          "/proc/kmsg",
          "/proc/latency_stats",
          "/proc/sched_debug",
          "/proc/scsi",
          "/proc/timer_list",
          "/proc/timer_stats",
          // Loop devices: the disks of all sandboxes, with their paths on the host.
          "/sys/devices/virtual/block",
          "/sys/devices/virtual/powercap",
          "/sys/firmware",
          "/sys/kernel");

  private static final List<String> READ_ONLY =
      List.of("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger");

  private static final String GUEST_PATH =
      "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

  private final byte[] seccompFilter;
  private final HostLimits limits;
  private final JsonMapper mapper = JsonMapper.builder().build();

  RuntimeConfiguration(byte[] seccompFilter, HostLimits limits) {
    this.seccompFilter = seccompFilter.clone();
    this.limits = limits;
  }

  byte[] forSandbox(SandboxSpec spec, SandboxPaths paths, String controlGroup) {
    Map<String, Object> configuration = new LinkedHashMap<>();
    configuration.put("ociVersion", "1.0.2");
    configuration.put("hostname", spec.id().value());
    // Relative to the bundle: the directories above it are closed to the sandbox's uid.
    configuration.put("root", Map.of("path", SandboxPaths.ROOT, "readonly", false));
    configuration.put("process", process());
    configuration.put("mounts", mounts(spec.resources(), paths.guest()));
    configuration.put("linux", linux(paths, controlGroup));
    configuration.put(
        "annotations",
        Map.of(SECCOMP_ANNOTATION, Base64.getEncoder().encodeToString(seccompFilter)));
    return mapper.writeValueAsBytes(configuration);
  }

  private Map<String, Object> process() {
    return Map.of(
        "terminal", false,
        "user", Map.of("uid", 0, "gid", 0),
        "args", List.of(GUEST_DIRECTORY + "/init", GUEST_DIRECTORY + "/s"),
        "env", List.of("PATH=" + GUEST_PATH),
        "cwd", "/",
        "noNewPrivileges", true,
        "capabilities",
            Map.of(
                "bounding", CAPABILITIES,
                "effective", CAPABILITIES,
                "permitted", CAPABILITIES),
        "rlimits",
            List.of(
                // Above the hard limit of this process the runtime may not go.
                limit("RLIMIT_NOFILE", Math.min(MAX_OPEN_FILES, limits.openFiles())),
                limit("RLIMIT_CORE", 0)));
  }

  private static Map<String, Object> limit(String type, long value) {
    return Map.of("type", type, "soft", value, "hard", value);
  }

  private static List<Map<String, Object>> mounts(Resources resources, Path guest) {
    List<Map<String, Object>> mounts = new ArrayList<>();
    mounts.add(mount("/proc", "proc", "proc", "nosuid", "noexec", "nodev"));
    mounts.add(mount("/dev", "tmpfs", "tmpfs", "nosuid", "strictatime", "mode=755", "size=1024k"));
    mounts.add(
        mount(
            "/dev/pts",
            "devpts",
            "devpts",
            "nosuid",
            "noexec",
            "newinstance",
            "ptmxmode=0666",
            "mode=0620",
            "gid=5",
            "max=" + MAX_TERMINALS));
    mounts.add(
        mount(
            "/dev/shm",
            "tmpfs",
            "shm",
            "nosuid",
            "noexec",
            "nodev",
            "mode=1777",
            "size=" + resources.memoryMib() / 2 + "m"));
    mounts.add(mount("/dev/mqueue", "mqueue", "mqueue", "nosuid", "noexec", "nodev"));
    mounts.add(mount("/sys", "sysfs", "sysfs", "nosuid", "noexec", "nodev", "ro"));
    mounts.add(mount(GUEST_DIRECTORY, "bind", guest.toString(), "bind", "ro", "nosuid", "nodev"));
    return mounts;
  }

  private static Map<String, Object> mount(
      String destination, String type, String source, String... options) {
    return Map.of(
        "destination", destination, "type", type, "source", source, "options", List.of(options));
  }

  private static Map<String, Object> linux(SandboxPaths paths, String controlGroup) {
    return Map.of(
        "namespaces",
        List.of(
            Map.of("type", "user", "path", paths.userNamespace().toString()),
            Map.of("type", "network", "path", paths.networkNamespace().toString()),
            Map.of("type", "pid"),
            Map.of("type", "ipc"),
            Map.of("type", "uts"),
            Map.of("type", "mount"),
            Map.of("type", "cgroup")),
        "cgroupsPath",
        controlGroup,
        "resources",
        Map.of("devices", devices()),
        "maskedPaths",
        MASKED,
        "readonlyPaths",
        READ_ONLY);
  }

  private static List<Map<String, Object>> devices() {
    List<Map<String, Object>> devices = new ArrayList<>();
    devices.add(Map.of("allow", false, "access", "rwm"));
    for (int minor : new int[] {3, 5, 7, 8, 9}) { // null, zero, full, random, urandom
      devices.add(device(1, minor));
    }
    devices.add(device(5, 0)); // tty
    devices.add(device(5, 2)); // ptmx
    devices.add(Map.of("allow", true, "type", "c", "major", 136, "access", "rwm")); // pts
    return devices;
  }

  private static Map<String, Object> device(int major, int minor) {
    return Map.of("allow", true, "type", "c", "major", major, "minor", minor, "access", "rwm");
  }
}
