package dev.hopx.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

final class PortsTest {
  private static HttpHandler says(String text) {
    return exchange -> exchange.sendText(200, "text/plain", text);
  }

  @Test
  void eachPortHasItsHandler() throws IOException {
    try (HttpServer server = HttpServer.start(HttpServerOptions.defaults())) {
      List<HttpServer.Listener> listeners = new ArrayList<>();
      for (int index = 0; index < 20; index++) {
        listeners.add(server.listen(TestServer.anyPort(), says("port " + index)));
      }
      for (int index = 0; index < 20; index++) {
        assertThat(get(listeners.get(index).address())).isEqualTo("port " + index);
      }
    }
  }

  @Test
  void portInUseIsSaid() {
    try (HttpServer server = HttpServer.start(HttpServerOptions.defaults());
        HttpServer.Listener first = server.listen(TestServer.anyPort(), says("a"))) {
      assertThatThrownBy(() -> server.listen(first.address(), says("b")))
          .isInstanceOf(UncheckedIOException.class)
          .hasMessageContaining(Integer.toString(first.address().getPort()));
    }
  }

  @Test
  void closingAPortRefusesAndCutsOnlyItsOwnConnections() throws IOException {
    try (HttpServer server = HttpServer.start(HttpServerOptions.defaults());
        HttpServer.Listener stays = server.listen(TestServer.anyPort(), says("stays"));
        RawClient staying = new RawClient(stays.address())) {
      HttpServer.Listener goes = server.listen(TestServer.anyPort(), says("goes"));
      try (RawClient going = new RawClient(goes.address())) {
        assertThat(going.send(REQUEST).receive().body()).isEqualTo("goes");
        assertThat(staying.send(REQUEST).receive().body()).isEqualTo("stays");
        goes.close();
        goes.close();
        assertThat(going.read()).isEqualTo(-1);
        assertThatThrownBy(() -> new RawClient(goes.address()))
            .isInstanceOf(ConnectException.class);
        assertThat(staying.send(REQUEST).receive().body()).isEqualTo("stays");
      }
      try (HttpServer.Listener again = server.listen(goes.address(), says("again"))) {
        assertThat(get(again.address())).isEqualTo("again");
      }
    }
  }

  @Test
  void hundredPortsComeAndGoWithoutALeak() throws Exception {
    try (HttpServer server = HttpServer.start(HttpServerOptions.defaults())) {
      openUseClose(server, 10);
      long descriptors = descriptors();
      int threads = platformThreads();
      openUseClose(server, 100);
      for (int round = 0; round < 50 && descriptors() > descriptors; round++) {
        Thread.sleep(100);
      }
      assertThat(descriptors()).isLessThanOrEqualTo(descriptors);
      assertThat(platformThreads()).isLessThanOrEqualTo(threads + 2);
    }
  }

  @Test
  void closeLetsRequestsEndWithinTheGraceAndCutsTheOthers() throws Exception {
    HttpServerOptions options =
        new HttpServerOptions(1 << 20, Duration.ofSeconds(10), Duration.ofSeconds(1));
    HttpServer server = HttpServer.start(options);
    HttpServer.Listener listener =
        server.listen(
            TestServer.anyPort(),
            exchange -> {
              Thread.sleep(exchange.rawPath().equals("/short") ? 400 : 60_000);
              exchange.sendText(200, "text/plain", "done");
            });
    try (RawClient brief = new RawClient(listener.address());
        RawClient endless = new RawClient(listener.address())) {
      brief.send("GET /short HTTP/1.1\r\nHost: h\r\n\r\n");
      endless.send("GET /long HTTP/1.1\r\nHost: h\r\n\r\n");
      Thread.sleep(200);
      long begun = System.nanoTime();
      server.close();
      assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(Duration.ofSeconds(8));
      assertThat(brief.receive().body()).isEqualTo("done");
      assertThat(endless.read()).isEqualTo(-1);
    }
  }

  private static final String REQUEST = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

  private static void openUseClose(HttpServer server, int rounds) throws IOException {
    for (int round = 0; round < rounds; round++) {
      try (HttpServer.Listener listener = server.listen(TestServer.anyPort(), says("x"));
          RawClient left = new RawClient(listener.address())) {
        assertThat(left.send(REQUEST).receive().body()).isEqualTo("x");
      }
    }
  }

  private static String get(InetSocketAddress address) throws IOException {
    try (RawClient client = new RawClient(address)) {
      return client.send(REQUEST).receive().body();
    }
  }

  private static long descriptors() throws IOException {
    try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
      return open.count();
    }
  }

  private static int platformThreads() {
    return Thread.getAllStackTraces().size();
  }
}
