package dev.hopx.agent;

import dev.hopx.channel.Guest;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.function.BooleanSupplier;

/** A sandbox around some guest. */
record TestSandbox(Guest guest, Path stateDirectory, BooleanSupplier alive, TestPause pause)
    implements AgentSandbox {
  TestSandbox(Guest guest, Path stateDirectory, BooleanSupplier alive) {
    this(guest, stateDirectory, alive, new TestPause());
  }

  @Override
  public boolean isPaused() {
    return pause.isPaused();
  }

  @Override
  public boolean isStopped() {
    return pause.isStopped();
  }

  @Override
  public Duration pausedTime() {
    return pause.time();
  }

  @Override
  public String id() {
    return "1763382095000aaaaa";
  }

  @Override
  public String templateName() {
    return "code-interpreter";
  }

  @Override
  public String region() {
    return "local";
  }

  @Override
  public String isolation() {
    return "container";
  }

  @Override
  public Instant createdAt() {
    return Instant.parse("2026-01-01T00:00:00Z");
  }

  @Override
  public Resources resources() {
    return new Resources(2, 4096, 10_240);
  }

  @Override
  public Map<String, String> templateEnvironment() {
    return Map.of("FROM_TEMPLATE", "template", "OF_BOTH", "template");
  }

  @Override
  public Map<String, String> creationEnvironment() {
    return Map.of("FROM_CREATION", "l1\nl2", "OF_BOTH", "creation", "CREATION_KEY", "k1");
  }

  @Override
  public Map<String, String> platformEnvironment() {
    return Map.of("PLATFORM_CERTIFICATES", "/etc/ssl/certs/ca-certificates.crt");
  }

  @Override
  public boolean opens(String token) {
    return token.equals(TestAgent.TOKEN);
  }

  @Override
  public boolean isAlive() {
    return alive.getAsBoolean();
  }
}
