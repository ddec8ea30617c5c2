package dev.hopx.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class StreamTest {
  private final AtomicLong written = new AtomicLong();
  private final CompletableFuture<Throwable> writeFailure = new CompletableFuture<>();
  private final TestServer server =
      TestServer.with(
          TestServer.router()
              .route(
                  HttpMethod.GET,
                  "/chunked",
                  (exchange, context) -> {
                    try (OutputStream out = exchange.sendStream(200, "text/plain", -1)) {
                      out.write("one".getBytes(UTF_8));
                      out.flush();
                      out.write("two".getBytes(UTF_8));
                    }
                  })
              .route(
                  HttpMethod.GET,
                  "/length",
                  (exchange, context) -> {
                    try (OutputStream out = exchange.sendStream(200, "text/plain", 6)) {
                      out.write("onetwo".getBytes(UTF_8));
                    }
                  })
              .route(
                  HttpMethod.GET,
                  "/short",
                  (exchange, context) -> {
                    try (OutputStream out = exchange.sendStream(200, "text/plain", 6)) {
                      out.write("one".getBytes(UTF_8));
                    }
                  })
              .route(
                  HttpMethod.GET,
                  "/thrown",
                  (exchange, context) -> {
                    OutputStream out = exchange.sendStream(200, "text/plain", -1);
                    out.write("one".getBytes(UTF_8));
                    out.flush();
                    throw new IllegalStateException("after the head");
                  })
              .route(
                  HttpMethod.GET,
                  "/left",
                  (exchange, context) -> {
                    OutputStream out = exchange.sendStream(200, "text/plain", 6);
                    out.write("one".getBytes(UTF_8));
                    out.flush();
                  })
              .route(
                  HttpMethod.GET,
                  "/endless",
                  (exchange, context) -> {
                    byte[] block = new byte[64 << 10];
                    try (OutputStream out = exchange.sendStream(200, "text/plain", -1)) {
                      while (true) {
                        out.write(block);
                        written.addAndGet(block.length);
                      }
                    } catch (IOException gone) {
                      writeFailure.complete(gone);
                      throw gone;
                    }
                  }));

  @AfterEach
  void stop() {
    server.close();
  }

  @Test
  void streamsWithAndWithoutALength() throws IOException {
    try (RawClient client = server.connect()) {
      RawClient.Reply chunked = client.send(get("/chunked")).receive();
      assertThat(chunked.body()).isEqualTo("onetwo");
      assertThat(chunked.header("Transfer-Encoding")).isEqualTo("chunked");
      RawClient.Reply length = client.send(get("/length")).receive();
      assertThat(length.body()).isEqualTo("onetwo");
      assertThat(length.header("Content-Length")).isEqualTo("6");
    }
  }

  @Test
  void headOfAStreamHasNoBody() throws IOException {
    try (RawClient client = server.connect()) {
      client.send("HEAD /length HTTP/1.1\r\nHost: h\r\n\r\n");
      assertThat(client.receive(false).header("Content-Length")).isEqualTo("6");
      assertThat(client.send(get("/length")).receive().body()).isEqualTo("onetwo");
    }
  }

  @Test
  void unfinishedResponsesCutTheConnection() throws IOException {
    for (String path : new String[] {"/short", "/thrown", "/left"}) {
      try (RawClient client = server.connect()) {
        client.send(get(path));
        assertThatThrownBy(client::receive).as(path).isInstanceOf(IOException.class);
      }
    }
  }

  @Test
  void clientThatDoesNotReadStopsTheWriterAndItsEndFreesIt() throws Exception {
    RawClient client = server.connect();
    client.send(get("/endless"));
    long before = -1;
    for (int round = 0; round < 50 && written.get() != before; round++) {
      before = written.get();
      Thread.sleep(200);
    }
    assertThat(written.get()).isEqualTo(before).isPositive().isLessThan(64L << 20);
    client.reset();
    assertThat(writeFailure.get(10, TimeUnit.SECONDS)).isInstanceOf(IOException.class);
  }

  @Test
  void clientThatDoesNotReadAtAllIsCutOffAfterTheIdleTime() throws Exception {
    CompletableFuture<Throwable> failure = new CompletableFuture<>();
    HttpServerOptions options = TestServer.options(1 << 20, Duration.ofMillis(500));
    try (TestServer impatient =
            new TestServer(
                options,
                exchange -> {
                  try (OutputStream out = exchange.sendStream(200, "text/plain", -1)) {
                    byte[] block = new byte[1 << 20];
                    while (true) {
                      out.write(block);
                    }
                  } catch (IOException gone) {
                    failure.complete(gone);
                    throw gone;
                  }
                });
        RawClient client = impatient.connect()) {
      client.send(get("/"));
      assertThat(failure.get(10, TimeUnit.SECONDS)).isInstanceOf(IOException.class);
    }
  }

  private static String get(String path) {
    return "GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n";
  }
}
