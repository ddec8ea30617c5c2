package dev.hopx.agent;

import static java.util.Objects.requireNonNull;

import dev.hopx.channel.FileRoots;
import dev.hopx.channel.Guest;
import dev.hopx.channel.GuestFiles;
import dev.hopx.channel.GuestUser;
import java.util.List;
import java.util.stream.Stream;

/** What the agent keeps for one sandbox while the server runs. */
final class AgentSession {
  private final AgentSandbox sandbox;
  private final SandboxEnvironment environment;
  private final FileRoots roots;
  private final Leftovers leftovers = new Leftovers();
  private final MemoryWatch memory;
  private final Interpreters interpreters;

  AgentSession(AgentSandbox sandbox) {
    this.sandbox = requireNonNull(sandbox);
    this.memory = new MemoryWatch(sandbox);
    this.environment = SandboxEnvironment.load(sandbox);
    this.roots =
        new FileRoots(
            Stream.of(GuestPath.WORKSPACE, GuestPath.TEMPORARY, environment.home())
                .distinct()
                .toList());
    this.interpreters = new Interpreters(this);
  }

  AgentSandbox sandbox() {
    return sandbox;
  }

  Guest guest() {
    return sandbox.guest();
  }

  SandboxEnvironment environment() {
    return environment;
  }

  /** Directories that the file API may touch (decision 22). */
  List<String> roots() {
    return roots.directories();
  }

  /** Files as the API's caller may reach them. */
  GuestFiles files() {
    return guest().files(roots, GuestUser.ROOT);
  }

  /** Files for the agent's own use. */
  GuestFiles allFiles() {
    return guest().files(FileRoots.UNRESTRICTED, GuestUser.ROOT);
  }

  MemoryWatch memory() {
    return memory;
  }

  Interpreter interpreter(InterpreterKind kind) {
    return interpreters.of(kind);
  }

  /** Lets go of what it has inside the sandbox. */
  void close() {
    interpreters.close();
  }

  Leftovers leftovers() {
    return leftovers;
  }
}
