package dev.hopx.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hopx.agent.AgentApi;
import dev.hopx.api.ErrorCode;
import dev.hopx.control.ControlApi;
import dev.hopx.http.Router;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Holds docs/api.md to what is served, and the other way round. */
final class ApiDocumentTest {
  private static final Path DOCUMENT = Path.of("..", "docs", "api.md");
  private static final Pattern ROW =
      Pattern.compile("(?m)^\\| (?:`([A-Z]+)`|any) \\| `(/[^`]*)` \\|");
  private static final Pattern CODE = Pattern.compile("(?m)^\\| `([A-Z_]+)` \\| (\\d{3}) \\|$");

  /** One row stands for every method and depth, since all of them say the same. */
  private static final String DESKTOP = "/desktop";

  @Test
  void controlPlane() throws IOException {
    assertThat(documented("## Control plane"))
        .containsExactlyInAnyOrderElementsOf(served(ControlApi.routes()));
  }

  @Test
  void agent() throws IOException {
    assertThat(documented("## Agent"))
        .containsExactlyInAnyOrderElementsOf(served(new AgentApi().routes()));
  }

  @Test
  void codes() throws IOException {
    List<String> documented =
        CODE.matcher(section("## Codes"))
            .results()
            .map(row -> row.group(1) + row.group(2))
            .toList();
    assertThat(documented)
        .containsExactlyElementsOf(
            Arrays.stream(ErrorCode.values()).map(code -> code.name() + code.status()).toList());
  }

  private static List<String> served(List<? extends Router.Route<?>> routes) {
    return routes.stream()
        .map(
            route ->
                route.path().startsWith(DESKTOP)
                    ? "null " + DESKTOP + "/…"
                    : route.method() + " " + route.path())
        .distinct()
        .toList();
  }

  private static List<String> documented(String heading) throws IOException {
    return ROW.matcher(section(heading))
        .results()
        .map(row -> row.group(1) + " " + row.group(2))
        .toList();
  }

  private static String section(String heading) throws IOException {
    String document = Files.readString(DOCUMENT);
    int start = document.indexOf(heading + "\n");
    assertThat(start).as(heading).isNotNegative();
    int end = document.indexOf("\n## ", start);
    return document.substring(start, end < 0 ? document.length() : end);
  }
}
