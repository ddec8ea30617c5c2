package dev.hopx.server;

import static java.util.Objects.requireNonNull;

import dev.hopx.agent.AgentApi;
import dev.hopx.agent.AgentHandler;
import dev.hopx.control.AgentEndpoints;
import dev.hopx.control.SandboxRecord;
import dev.hopx.control.SandboxTokens;
import dev.hopx.http.HttpServer;
import dev.hopx.node.Node;
import dev.hopx.node.Sandbox;
import dev.hopx.template.Template;
import dev.hopx.template.TemplateCatalog;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Publishes each sandbox's agent on a loopback port of its own (decision 24, local mode). A path
 * prefix on a shared port would not do: clients drop it from WebSocket addresses.
 */
final class LoopbackAgents implements AgentEndpoints {
  private static final String LOOPBACK = "127.0.0.1";

  private final HttpServer http;
  private final Node node;
  private final TemplateCatalog templates;
  private final SandboxTokens tokens;
  private final Map<String, String> platformEnvironment;
  private final AgentApi agent = new AgentApi();
  private final Map<String, Published> published = new ConcurrentHashMap<>();

  LoopbackAgents(
      HttpServer http,
      Node node,
      TemplateCatalog templates,
      SandboxTokens tokens,
      Map<String, String> platformEnvironment) {
    this.http = requireNonNull(http);
    this.node = requireNonNull(node);
    this.templates = requireNonNull(templates);
    this.tokens = requireNonNull(tokens);
    this.platformEnvironment = Map.copyOf(platformEnvironment);
  }

  @Override
  public String open(SandboxRecord record) {
    Sandbox sandbox =
        node.find(record.id())
            .orElseThrow(() -> new IllegalStateException("The node has no sandbox " + record.id()));
    AgentHandler handler =
        agent.handler(
            new HostedSandbox(
                record,
                node,
                sandbox,
                tokens,
                templates.find(record.templateId()).map(Template::environment).orElse(Map.of()),
                platformEnvironment));
    InetSocketAddress address =
        new InetSocketAddress(InetAddress.ofLiteral(LOOPBACK), record.agentPort());
    Published replaced =
        published.put(record.id().value(), new Published(handler, http.listen(address, handler)));
    if (replaced != null) {
      replaced.close();
    }
    return "http://" + LOOPBACK + ":" + record.agentPort();
  }

  @Override
  public void close(String sandboxId) {
    Published removed = published.remove(sandboxId);
    if (removed != null) {
      removed.close();
    }
  }

  private record Published(AgentHandler handler, HttpServer.Listener listener) {
    void close() {
      listener.close();
      handler.close();
    }
  }
}
