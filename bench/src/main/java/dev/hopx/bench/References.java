package dev.hopx.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** What the figures are held against, on the same machine in the same run. */
final class References {
  private static final JsonMapper JSON = new JsonMapper();

  /** Prints the microseconds of each of $1 rounds of a bare fork and exec. */
  private static final String FORK_EXEC =
      """
      for i in $(seq "$1"); do
        s=${EPOCHREALTIME/./}; /bin/true; e=${EPOCHREALTIME/./}
        echo $((e - s))
      done
      """;

  /**
   * Prints the microseconds of each of $1 rounds of `crun run --detach`: the bundle $2 over a fresh
   * overlay of the root file system $3. Mounting and deleting are outside the time.
   */
  private static final String CRUN_RUN =
      """
      bundle=$2; lower=$3; work=$(mktemp -d /var/tmp/hopx-bench.XXXXXX)
      trap 'crun --root "$work/crun" delete -f hopx-bench >/dev/null 2>&1 || true
            umount "$bundle/rootfs" 2>/dev/null || true; rm -rf "$work"' EXIT
      for i in $(seq "$1"); do
        mkdir -p "$work/$i/u" "$work/$i/w" "$bundle/rootfs"
        mount -t overlay overlay -o "lowerdir=$lower,upperdir=$work/$i/u,workdir=$work/$i/w" \
          "$bundle/rootfs"
        s=${EPOCHREALTIME/./}
        crun --root "$work/crun" --cgroup-manager=cgroupfs run --detach --bundle "$bundle" \
          hopx-bench </dev/null >/dev/null
        e=${EPOCHREALTIME/./}
        echo $((e - s))
        crun --root "$work/crun" delete -f hopx-bench
        umount "$bundle/rootfs"
      done
      """;

  private References() {}

  static Samples forkAndExec(int rounds) {
    Samples samples = new Samples();
    samples.addAll(Shell.milliseconds(Shell.lines(FORK_EXEC, Integer.toString(rounds))));
    return samples;
  }

  /**
   * Runs the OCI configuration of a live sandbox by hand, with namespaces of its own and without a
   * network set-up: the least that any platform on crun pays.
   */
  static Samples crunRun(int rounds, Path sandboxDirectory, Path rootFileSystem) {
    try {
      Path bundle = Files.createTempDirectory(Path.of("/var/tmp"), "hopx-bench-bundle");
      try {
        ObjectNode config = (ObjectNode) JSON.readTree(Files.readString(config(sandboxDirectory)));
        Files.writeString(bundle.resolve("config.json"), standalone(config).toString());
        List<String> lines =
            Shell.lines(
                CRUN_RUN, Integer.toString(rounds), bundle.toString(), rootFileSystem.toString());
        Samples samples = new Samples();
        samples.addAll(Shell.milliseconds(lines));
        return samples;
      } finally {
        Shell.lines("rm -rf --one-file-system \"$1\"", bundle.toString());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Path config(Path sandboxDirectory) throws IOException {
    try (Stream<Path> files = Files.walk(sandboxDirectory, 2)) {
      return files
          .filter(file -> file.endsWith("config.json"))
          .findFirst()
          .orElseThrow(() -> new IOException("No config.json below " + sandboxDirectory));
    }
  }

  private static ObjectNode standalone(ObjectNode config) {
    config.putObject("root").put("path", "rootfs").put("readonly", false);
    ObjectNode process = (ObjectNode) config.get("process");
    process.putArray("args").add("/bin/sleep").add("1000");
    ObjectNode linux = (ObjectNode) config.get("linux");
    linux.put("cgroupsPath", "/hopx-bench");
    ArrayNode namespaces = (ArrayNode) linux.get("namespaces");
    for (JsonNode namespace : namespaces) {
      ((ObjectNode) namespace).remove("path");
    }
    for (String map : List.of("uidMappings", "gidMappings")) {
      if (!linux.has(map)) {
        linux.putArray(map).addObject().put("containerID", 0).put("hostID", 0).put("size", 65536);
      }
    }
    return config;
  }
}
