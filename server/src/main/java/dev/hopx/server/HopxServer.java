package dev.hopx.server;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.control.ApiKeys;
import dev.hopx.control.ControlApi;
import dev.hopx.control.ControlSettings;
import dev.hopx.control.SandboxService;
import dev.hopx.control.SandboxTokens;
import dev.hopx.control.Store;
import dev.hopx.http.HttpHandler;
import dev.hopx.http.HttpServer;
import dev.hopx.http.HttpServerOptions;
import dev.hopx.node.LocalNode;
import dev.hopx.node.Node;
import dev.hopx.node.NodeOptions;
import dev.hopx.template.TemplateStore;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Clock;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The whole server, wired. Owns its directories, store, node, HTTP server and the control plane,
 * and closes them in the opposite order; sandboxes go on without it.
 */
final class HopxServer implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(HopxServer.class);

  /** Answers while the server adopts what it finds; clients retry this. */
  private static final HttpHandler STARTING =
      exchange -> {
        throw new ApiException(ErrorCode.SERVICE_UNAVAILABLE, "The server is starting; try again");
      };

  private final Configuration configuration;
  private final ArrayDeque<AutoCloseable> opened = new ArrayDeque<>();
  private volatile HttpHandler api = STARTING;

  private HopxServer(Configuration configuration) {
    this.configuration = configuration;
  }

  /**
   * Starts and returns when the API answers.
   *
   * @throws ConfigurationException when a setting does not work on this machine
   */
  static HopxServer start(Configuration configuration) {
    HopxServer server = new HopxServer(configuration);
    try {
      server.open();
      return server;
    } catch (RuntimeException | Error failure) {
      server.close();
      throw failure;
    }
  }

  /** Where the API is. */
  String url() {
    return "http://" + configuration.host() + ":" + configuration.port();
  }

  private void open() {
    Clock clock = Clock.systemUTC();
    take(Directories.take(configuration.dataDir(), configuration.runDir()));
    // The node runs programs and the store loads classes: together they take as long as one.
    CompletableFuture<Node> starting =
        CompletableFuture.supplyAsync(this::startNode, onVirtualThread());
    HttpServer http;
    Store store;
    SandboxTokens tokens;
    ApiKeys keys;
    try {
      http =
          take(
              HttpServer.start(
                  new HttpServerOptions(
                      configuration.maxJsonBody(),
                      HttpServerOptions.DEFAULT_IDLE_TIMEOUT,
                      HttpServerOptions.DEFAULT_STOP_GRACE)));
      listen(http);
      store = take(Store.open(configuration.dataDir().resolve("hopx.db")));
      tokens =
          SandboxTokens.open(
              configuration.dataDir().resolve("token.key"), configuration.tokenLifetime(), clock);
      keys = new ApiKeys(store, clock);
      keys.bootstrap(configuration.dataDir().resolve("admin.key"));
    } catch (RuntimeException | Error failure) {
      closeOnceStarted(starting);
      throw failure;
    }
    Node node = take(await(starting));
    TemplateStore templates = TemplateStore.open(configuration.templateStore());
    ControlSettings settings =
        new ControlSettings(
            Version.current(),
            configuration.region(),
            configuration.agentPorts().first(),
            configuration.agentPorts().last());
    LoopbackAgents agents =
        new LoopbackAgents(
            http,
            node,
            templates,
            tokens,
            CertificateEnvironment.of(configuration.trustHostCertificates()));
    SandboxService sandboxes = take(new SandboxService(settings, store, node, agents, clock));
    sandboxes.start();
    api = new ControlApi(settings, keys, sandboxes, tokens, templates, store, clock).handler();
    log.info(
        "Serving {} with {} sandboxes, data in {}",
        url(),
        node.list().size(),
        configuration.dataDir());
  }

  private Node startNode() {
    try {
      return LocalNode.start(nodeOptions());
    } catch (IllegalArgumentException invalid) {
      throw new ConfigurationException(String.valueOf(invalid.getMessage()));
    }
  }

  private NodeOptions nodeOptions() {
    return NodeOptions.defaults(configuration.dataDir(), configuration.runDir())
        .withInstance(configuration.instance())
        .withSandboxSubnet(configuration.sandboxSubnet())
        .withUidBase(configuration.uidBase())
        .withTrustHostCertificates(configuration.trustHostCertificates())
        .withDiskQuota(configuration.diskQuota())
        .withAdmission(configuration.admission());
  }

  private void listen(HttpServer http) {
    InetSocketAddress address;
    try {
      address =
          new InetSocketAddress(InetAddress.getByName(configuration.host()), configuration.port());
    } catch (UnknownHostException unknown) {
      throw new ConfigurationException("host: \"" + configuration.host() + "\" is not known here");
    }
    try {
      http.listen(address, exchange -> api.handle(exchange));
    } catch (UncheckedIOException inUse) {
      throw new ConfigurationException(
          "host and port: %s; is another program listening there? (port or HOPX_PORT takes another)"
              .formatted(inUse.getMessage()));
    }
  }

  private static Node await(CompletableFuture<Node> starting) {
    try {
      return starting.join();
    } catch (CompletionException wrapped) {
      if (wrapped.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw wrapped;
    }
  }

  /** A node is not left half started, whatever else failed. */
  private static void closeOnceStarted(CompletableFuture<Node> starting) {
    try {
      starting.join().close();
    } catch (CompletionException alsoFailed) {
      log.debug("The node does not start either", alsoFailed);
    }
  }

  private static Executor onVirtualThread() {
    return task -> Thread.ofVirtual().name("start-node").start(task);
  }

  private <T extends AutoCloseable> T take(T resource) {
    opened.push(resource);
    return resource;
  }

  /** Stops answering; sandboxes go on. One failure does not keep the rest from closing. */
  @Override
  public void close() {
    while (!opened.isEmpty()) {
      AutoCloseable resource = opened.pop();
      try {
        resource.close();
      } catch (Exception failure) {
        log.warn("{} did not close cleanly", resource.getClass().getSimpleName(), failure);
      }
    }
  }
}
