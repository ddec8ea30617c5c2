package dev.hopx.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Foreground work dies with its caller, and nothing else dies. */
final class DisconnectTest {
  private static final Duration NOTICED_WITHIN = Duration.ofSeconds(1);

  private final AtomicInteger disconnects = new AtomicInteger();
  private final CountDownLatch started = new CountDownLatch(1);
  private volatile CountDownLatch release = new CountDownLatch(1);
  private final TestServer server = new TestServer(handler());

  private HttpHandler handler() {
    Router<String> router =
        TestServer.router()
            .route(
                HttpMethod.GET,
                "/wait",
                (exchange, context) -> {
                  CountDownLatch ended = release;
                  try (HttpExchange.DisconnectWatch _ =
                      exchange.onDisconnect(
                          () -> {
                            disconnects.incrementAndGet();
                            ended.countDown();
                          })) {
                    started.countDown();
                    assertThat(ended.await(20, TimeUnit.SECONDS)).isTrue();
                  }
                  exchange.sendText(200, "text/plain", "waited");
                })
            .route(
                HttpMethod.POST,
                "/sleep/{ms}",
                (exchange, context) -> {
                  String body = exchange.jsonBody().toString();
                  try (HttpExchange.DisconnectWatch _ =
                      exchange.onDisconnect(disconnects::incrementAndGet)) {
                    Thread.sleep(Long.parseLong(exchange.pathParameter("ms")));
                  }
                  exchange.sendText(200, "text/plain", body);
                })
            .route(
                HttpMethod.GET,
                "/plain",
                (exchange, context) -> exchange.sendText(200, "text/plain", "plain"));
    return router.handler("");
  }

  @AfterEach
  void stop() {
    release.countDown();
    server.close();
  }

  @Test
  void closedConnectionIsNoticed() throws Exception {
    RawClient client = server.connect();
    client.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
    assertThat(started.await(10, TimeUnit.SECONDS)).isTrue();
    client.close();
    assertThat(release.await(NOTICED_WITHIN.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
    assertThat(disconnects).hasValue(1);
  }

  @Test
  void resetConnectionIsNoticed() throws Exception {
    RawClient client = server.connect();
    client.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
    assertThat(started.await(10, TimeUnit.SECONDS)).isTrue();
    client.reset();
    assertThat(release.await(NOTICED_WITHIN.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
    assertThat(disconnects).hasValue(1);
  }

  @Test
  void halfClosedConnectionIsNoticedAndStillAnswered() throws Exception {
    try (RawClient client = server.connect()) {
      client.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
      assertThat(started.await(10, TimeUnit.SECONDS)).isTrue();
      client.shutdownOutput();
      assertThat(release.await(NOTICED_WITHIN.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
      assertThat(client.receive().body()).isEqualTo("waited");
      assertThat(client.read()).isEqualTo(-1);
    }
  }

  @Test
  void endOfAConnectionThatWasClosedBeforeTheWatchIsNoticed() throws Exception {
    try (TestServer late =
        new TestServer(
            exchange -> {
              started.countDown();
              Thread.sleep(300);
              try (HttpExchange.DisconnectWatch _ = exchange.onDisconnect(release::countDown)) {
                assertThat(release.await(10, TimeUnit.SECONDS)).isTrue();
              }
              exchange.sendText(200, "text/plain", "");
            })) {
      RawClient client = late.connect();
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
      assertThat(started.await(10, TimeUnit.SECONDS)).isTrue();
      client.close();
      assertThat(release.await(5, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void closingThePortIsADisconnect() throws Exception {
    try (RawClient client = server.connect()) {
      client.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
      assertThat(started.await(10, TimeUnit.SECONDS)).isTrue();
      server.listener().close();
      assertThat(release.await(NOTICED_WITHIN.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
    }
  }

  @Test
  void connectionGoesOnAfterAWatch() throws Exception {
    try (RawClient client = server.connect()) {
      for (int round = 0; round < 200; round++) {
        client.send(sleep(round % 3, "{\"round\":" + round + "}"));
        assertThat(client.receive().body()).isEqualTo("{\"round\":" + round + "}");
      }
    }
    assertThat(disconnects).hasValue(0);
  }

  @Test
  void pipelinedRequestsSurviveAWatch() throws Exception {
    try (RawClient client = server.connect()) {
      for (int round = 0; round < 50; round++) {
        client.send(sleep(5, "{\"round\":1}"));
        Thread.sleep(round % 8);
        client.send(sleep(0, "{\"round\":2}") + get("/plain"));
        assertThat(client.receive().body()).isEqualTo("{\"round\":1}");
        assertThat(client.receive().body()).isEqualTo("{\"round\":2}");
        assertThat(client.receive().body()).isEqualTo("plain");
      }
    }
    assertThat(disconnects).hasValue(0);
  }

  @Test
  void manyPipelinedRequestsSurviveAWatch() throws Exception {
    int count = 4 * PortEndPoint.READ_AHEAD / get("/plain").length();
    try (RawClient client = server.connect()) {
      client.send(sleep(100, "{}"));
      Thread.sleep(20);
      client.send(get("/plain").repeat(count));
      assertThat(client.receive().body()).isEqualTo("{}");
      for (int index = 0; index < count; index++) {
        assertThat(client.receive().body()).isEqualTo("plain");
      }
      assertThat(client.send(get("/plain")).receive().body()).isEqualTo("plain");
    }
    assertThat(disconnects).hasValue(0);
  }

  @Test
  void silentHandlerOutlivesTheIdleTimeWithAndWithoutAWatch() throws Exception {
    HttpServerOptions options = TestServer.options(1 << 20, Duration.ofMillis(200));
    try (TestServer impatient = new TestServer(options, handler());
        RawClient client = impatient.connect()) {
      client.send(sleep(1000, "{}"));
      assertThat(client.receive().body()).isEqualTo("{}");
    }
    assertThat(disconnects).hasValue(0);
    try (TestServer impatient =
            new TestServer(
                options,
                exchange -> {
                  Thread.sleep(1000);
                  exchange.sendText(200, "text/plain", "late");
                });
        RawClient client = impatient.connect()) {
      assertThat(client.send(get("/")).receive().body()).isEqualTo("late");
    }
  }

  @Test
  void twoHundredClientsThatLeaveAreAllNoticed() throws Exception {
    CountDownLatch all = new CountDownLatch(200);
    try (TestServer many =
        new TestServer(
            exchange -> {
              CountDownLatch gone = new CountDownLatch(1);
              try (HttpExchange.DisconnectWatch _ = exchange.onDisconnect(gone::countDown)) {
                if (gone.await(10, TimeUnit.SECONDS)) {
                  all.countDown();
                }
              }
              exchange.sendText(200, "text/plain", "");
            })) {
      for (int round = 0; round < 200; round++) {
        RawClient client = many.connect();
        client.send(get("/"));
        if (round % 3 == 0) {
          Thread.sleep(2);
        }
        leave(client, round);
      }
      assertThat(all.await(10, TimeUnit.SECONDS)).as("left: " + all.getCount()).isTrue();
    }
  }

  private static void leave(RawClient client, int round) throws IOException {
    if (round % 2 == 0) {
      client.close();
    } else {
      client.shutdownOutput();
      client.close();
    }
  }

  private static String get(String path) {
    return "GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n";
  }

  private static String sleep(int milliseconds, String body) {
    return "POST /sleep/%d HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s"
        .formatted(milliseconds, body.length(), body);
  }
}
