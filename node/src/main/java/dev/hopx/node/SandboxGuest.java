package dev.hopx.node;

import dev.hopx.channel.FileRoots;
import dev.hopx.channel.Guest;
import dev.hopx.channel.GuestChannel;
import dev.hopx.channel.GuestConnection;
import dev.hopx.channel.GuestFiles;
import dev.hopx.channel.GuestProcess;
import dev.hopx.channel.GuestUser;
import dev.hopx.channel.Spawn;

/** A guest whose processes have control groups of their own. */
final class SandboxGuest implements Guest {
  private final GuestChannel channel;
  private final Executions executions;

  SandboxGuest(GuestChannel channel, Executions executions) {
    this.channel = channel;
    this.executions = executions;
  }

  @Override
  public GuestProcess start(Spawn spawn) {
    Executions.Execution execution = executions.open();
    return channel.start(tagged(spawn, execution.number()), execution);
  }

  @Override
  public GuestFiles files(FileRoots roots, GuestUser user) {
    return channel.files(roots, user);
  }

  @Override
  public GuestConnection dial(String host, int port) {
    return channel.dial(host, port);
  }

  private static Spawn tagged(Spawn spawn, long execution) {
    return new Spawn(
        spawn.argv(),
        spawn.environment(),
        spawn.workingDirectory(),
        spawn.user(),
        spawn.stdinPipe(),
        spawn.terminal(),
        spawn.mergeStderr(),
        spawn.keep(),
        new ExecutionTag(execution, spawn.tag()).text());
  }
}
