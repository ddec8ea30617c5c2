package dev.hopx.node;

import dev.hopx.channel.GuestProcess;
import dev.hopx.channel.Spawn;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A server in a JVM of its own that is made to be killed: starts the node described by its
 * arguments, makes sandboxes, leaves work in them, says READY and waits.
 */
final class DoomedServer {
  static final String READY = "READY";

  private DoomedServer() {}

  /** Arguments of {@link #main}: the node's options, then how many sandboxes of which root. */
  static List<String> arguments(NodeOptions options, int count, Path rootFileSystem) {
    return List.of(
        options.dataDirectory().toString(),
        options.runDirectory().toString(),
        options.instance(),
        options.sandboxSubnet(),
        Integer.toString(count),
        rootFileSystem.toString());
  }

  /** As above, for one sandbox in whose creation the server dies before a step. */
  static List<String> arguments(NodeOptions options, Path rootFileSystem, CreationStep last) {
    List<String> arguments = new ArrayList<>(arguments(options, 1, rootFileSystem));
    arguments.add(last.name());
    return arguments;
  }

  public static void main(String[] arguments) throws Exception {
    NodeOptions options =
        NodeOptions.defaults(Path.of(arguments[0]), Path.of(arguments[1]))
            .withInstance(arguments[2])
            .withSandboxSubnet(arguments[3]);
    LocalNode node =
        LocalNode.start(
            options,
            step -> {
              if (arguments.length > 6 && step.name().equals(arguments[6])) {
                // As kill -9 does: nothing of the JVM is closed.
                Runtime.getRuntime().halt(9);
              }
            });
    for (int i = 0; i < Integer.parseInt(arguments[4]); i++) {
      Sandbox sandbox =
          node.create(
              new SandboxSpec(
                  new SandboxId("70doomed%010d".formatted(i)),
                  "test@sha256:0",
                  Path.of(arguments[5]),
                  NodeLab.SMALL,
                  true,
                  Map.of("number", Integer.toString(i))));
      NodeLab.sh(sandbox, "echo file-" + i + " > /workspace/file");
      sandbox
          .guest()
          .start(
              Spawn.of(
                  List.of("sh", "-c", "setsid sleep 7001 & exec sleep 7002"),
                  NodeLab.ENVIRONMENT,
                  "/"));
      sandbox.guest().start(kept());
      try (GuestProcess ended =
          sandbox
              .guest()
              .start(Spawn.of(List.of("sh", "-c", "sleep 7003 &"), NodeLab.ENVIRONMENT, "/"))) {
        ended.awaitExit();
      }
    }
    System.out.println(READY);
    Thread.sleep(Duration.ofMinutes(5));
  }

  private static Spawn kept() {
    Spawn plain =
        Spawn.of(
            List.of(
                "sh",
                "-c",
                "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo line $i; done; exec sleep 7004"),
            NodeLab.ENVIRONMENT,
            "/");
    return new Spawn(
        plain.argv(),
        plain.environment(),
        plain.workingDirectory(),
        plain.user(),
        false,
        plain.terminal(),
        false,
        true,
        "job in the background");
  }
}
