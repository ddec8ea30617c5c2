package dev.hopx.agent;

import static dev.hopx.http.HttpMethod.DELETE;
import static dev.hopx.http.HttpMethod.GET;
import static dev.hopx.http.HttpMethod.PATCH;
import static dev.hopx.http.HttpMethod.POST;
import static dev.hopx.http.HttpMethod.PUT;

import dev.hopx.http.HttpMethod;
import dev.hopx.http.RouteHandler;
import dev.hopx.http.Router;
import java.util.List;

/**
 * The VM Agent API of every sandbox of this node. One instance serves all sandboxes; what belongs
 * to one of them lives in the handler that was made for it.
 */
public final class AgentApi {
  /** Depth to which {@code /desktop/…} is answered; the deepest documented path has four parts. */
  private static final List<String> DESKTOP_PATHS =
      List.of("/desktop", "/desktop/{a}", "/desktop/{a}/{b}", "/desktop/{a}/{b}/{c}");

  private final Router<AgentSession> router;

  public AgentApi() {
    router = new Router<>(new AgentErrors());
    StatusEndpoint status = new StatusEndpoint();
    open(GET, "/", status::root);
    open(GET, "/ping", status::ping);
    open(GET, "/health", status::health);
    open(GET, "/info", status::info);
    open(GET, "/system", new SystemEndpoint());

    ForegroundRunner runner = new ForegroundRunner();
    guarded(POST, "/execute", new ExecuteEndpoint(runner, false));
    ExecuteEndpoint rich = new ExecuteEndpoint(runner, true);
    guarded(POST, "/execute/rich", rich);
    guarded(POST, "/execute/ipython", rich::ipython);
    guarded(POST, "/commands/run", new CommandEndpoint(runner));

    guarded(GET, "/files/read", new FileReadEndpoint());
    guarded(POST, "/files/write", new FileWriteEndpoint());
    guarded(GET, "/files/list", new FileListEndpoint());
    guarded(GET, "/files/exists", new FileExistsEndpoint());
    guarded(DELETE, "/files/remove", new FileRemoveEndpoint());
    guarded(POST, "/files/mkdir", new DirectoryMakeEndpoint());
    guarded(POST, "/files/upload", new FileUploadEndpoint());
    router.route(GET, "/files/download", Gate.guardedByTokenInQuery(new FileDownloadEndpoint()));

    EnvironmentEndpoint environment = new EnvironmentEndpoint();
    guarded(GET, "/env", environment::get);
    guarded(PUT, "/env", environment::put);
    guarded(PATCH, "/env", environment::patch);
    guarded(DELETE, "/env", environment::delete);

    for (String path : DESKTOP_PATHS) {
      for (HttpMethod method : HttpMethod.values()) {
        guarded(method, path, new DesktopEndpoint());
      }
    }
  }

  /**
   * Serves one sandbox. Call it once for a sandbox in the life of the server: the handler holds the
   * sandbox's variables, which it reads from the state directory, and its interpreters.
   */
  public AgentHandler handler(AgentSandbox sandbox) {
    AgentSession session = new AgentSession(sandbox);
    return new AgentHandler(session, router.handler(session));
  }

  /** All that is served, for the documentation. */
  public List<? extends Router.Route<?>> routes() {
    return router.routes();
  }

  private void open(HttpMethod method, String path, RouteHandler<AgentSession> handler) {
    router.route(method, path, Gate.open(handler));
  }

  private void guarded(HttpMethod method, String path, RouteHandler<AgentSession> handler) {
    router.route(method, path, Gate.guarded(handler));
  }
}
