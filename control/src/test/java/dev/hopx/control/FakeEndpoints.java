package dev.hopx.control;

import java.io.UncheckedIOException;
import java.net.BindException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Endpoints that listen nowhere, but clash as real ones do. */
final class FakeEndpoints implements AgentEndpoints {
  private final Map<String, Integer> ports = new ConcurrentHashMap<>();
  private final Set<Integer> foreign = ConcurrentHashMap.newKeySet();

  /** Another program takes the port. */
  void occupy(int port) {
    foreign.add(port);
  }

  /** Port by sandbox id. */
  Map<String, Integer> open() {
    return Map.copyOf(ports);
  }

  @Override
  public String open(SandboxRecord sandbox) {
    int port = sandbox.agentPort();
    if (foreign.contains(port)) {
      throw new UncheckedIOException(new BindException("Address in use: " + port));
    }
    ports.forEach(
        (id, taken) -> {
          if (taken == port) {
            throw new IllegalStateException(sandbox.id() + " was given the port of " + id);
          }
        });
    ports.put(sandbox.id().value(), port);
    return "http://127.0.0.1:" + port;
  }

  @Override
  public void close(String sandboxId) {
    ports.remove(sandboxId);
  }
}
