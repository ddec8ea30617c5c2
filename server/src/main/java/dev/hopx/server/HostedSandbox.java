package dev.hopx.server;

import dev.hopx.agent.AgentSandbox;
import dev.hopx.channel.Guest;
import dev.hopx.control.SandboxRecord;
import dev.hopx.control.SandboxTokens;
import dev.hopx.node.Node;
import dev.hopx.node.Sandbox;
import dev.hopx.node.SandboxState;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;

/** What the agent needs to know of a sandbox: partly from its record, partly from its node. */
final class HostedSandbox implements AgentSandbox {
  private final SandboxRecord record;
  private final Node node;
  private final Sandbox published;
  private final SandboxTokens tokens;
  private final Map<String, String> templateEnvironment;
  private final Map<String, String> platformEnvironment;

  HostedSandbox(
      SandboxRecord record,
      Node node,
      Sandbox published,
      SandboxTokens tokens,
      Map<String, String> templateEnvironment,
      Map<String, String> platformEnvironment) {
    this.record = record;
    this.node = node;
    this.published = published;
    this.tokens = tokens;
    this.templateEnvironment = Map.copyOf(templateEnvironment);
    this.platformEnvironment = Map.copyOf(platformEnvironment);
  }

  @Override
  public String id() {
    return record.id().value();
  }

  @Override
  public String templateName() {
    return record.templateName();
  }

  @Override
  public String region() {
    return record.region();
  }

  @Override
  public String isolation() {
    return sandbox().isolation().wireName();
  }

  @Override
  public Instant createdAt() {
    return record.createdAt();
  }

  @Override
  public Resources resources() {
    return new Resources(
        record.resources().vcpus(), record.resources().memoryMib(), record.resources().diskMib());
  }

  @Override
  public Guest guest() {
    return sandbox().guest();
  }

  @Override
  public long memoryKills() {
    return sandbox().memoryKills();
  }

  @Override
  public Path stateDirectory() {
    return published.stateDirectory();
  }

  @Override
  public Map<String, String> templateEnvironment() {
    return templateEnvironment;
  }

  @Override
  public Map<String, String> creationEnvironment() {
    return record.environment();
  }

  @Override
  public Map<String, String> platformEnvironment() {
    return platformEnvironment;
  }

  @Override
  public boolean opens(String token) {
    return tokens.opens(token, id());
  }

  @Override
  public boolean isAlive() {
    return switch (sandbox().state()) {
      case RUNNING, PAUSED, STOPPED -> true;
      case ENDED -> false;
    };
  }

  @Override
  public boolean isPaused() {
    return sandbox().state() == SandboxState.PAUSED;
  }

  @Override
  public boolean isStopped() {
    return sandbox().state() == SandboxState.STOPPED;
  }

  @Override
  public Duration pausedTime() {
    return sandbox().pausedTime();
  }

  /** After a start it is another one than the one that was published. */
  private Sandbox sandbox() {
    return node.find(published.id()).orElse(published);
  }
}
