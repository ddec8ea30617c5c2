package dev.hopx.node;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * A server in a JVM of its own that is made to be killed in the middle of a pause, resume, stop or
 * start: it does nothing else, over and over, with one sandbox.
 */
final class DoomedMover {
  static final SandboxId SANDBOX = new SandboxId("70mover00000000000");

  private DoomedMover() {}

  /**
   * @param moves what it repeats, a letter each: {@code p}ause, {@code r}esume, {@code x} for stop,
   *     {@code s}tart
   */
  static List<String> arguments(NodeOptions options, Path rootFileSystem, String moves) {
    return List.of(
        options.dataDirectory().toString(),
        options.runDirectory().toString(),
        options.instance(),
        options.sandboxSubnet(),
        rootFileSystem.toString(),
        moves);
  }

  public static void main(String[] arguments) {
    LocalNode node =
        LocalNode.start(
            NodeOptions.defaults(Path.of(arguments[0]), Path.of(arguments[1]))
                .withInstance(arguments[2])
                .withSandboxSubnet(arguments[3]));
    Sandbox sandbox =
        node.create(
            new SandboxSpec(
                SANDBOX,
                "test@sha256:0",
                Path.of(arguments[4]),
                NodeLab.SMALL,
                true,
                Map.of("owner", "test")));
    NodeLab.sh(sandbox, "echo kept > /workspace/file; sleep 7005 >/dev/null 2>&1 &");
    System.out.println(DoomedServer.READY);
    while (true) {
      for (char move : arguments[5].toCharArray()) {
        switch (move) {
          case 'p' -> node.pause(SANDBOX);
          case 'r' -> node.resume(SANDBOX);
          case 'x' -> node.stop(SANDBOX);
          case 's' -> node.start(SANDBOX);
          default -> throw new IllegalArgumentException("Unknown move " + move);
        }
      }
    }
  }
}
