package dev.hopx.guest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class DialTest {
  private static final int DIAL = 10;

  private final TestGuest guest = TestGuest.start();

  @AfterEach
  void closeGuest() {
    guest.close();
  }

  @Test
  void relaysBothWaysWithHalfCloses() throws Exception {
    try (ServerSocket server = listen()) {
      CompletableFuture<byte[]> received = new CompletableFuture<>();
      Thread.ofVirtual().start(() -> serve(server, received));
      TestStream stream = dial("127.0.0.1", server.getLocalPort());
      assertThat(stream.record().code()).isZero();
      stream.awaitText(1, "hello");
      stream.write("question").end();
      assertThat(stream.awaitEnd().value()).isZero();
      assertThat(received.get(10, TimeUnit.SECONDS)).isEqualTo("question".getBytes(UTF_8));
      assertThat(stream.text(1)).isEqualTo("hello, got question");
    }
  }

  @Test
  void carriesMuch() throws Exception {
    try (ServerSocket server = listen()) {
      Thread.ofVirtual()
          .start(
              () -> {
                try (Socket socket = server.accept()) {
                  socket.getOutputStream().write(new byte[5_000_000]);
                } catch (IOException e) {
                  // Told by the missing bytes.
                }
              });
      TestStream stream = dial("127.0.0.1", server.getLocalPort());
      stream.awaitEnd(1);
      assertThat(stream.received(1)).isEqualTo(5_000_000);
    }
  }

  @Test
  void resolvesNamesInside() throws Exception {
    try (ServerSocket server = listen()) {
      TestStream stream = dial("localhost", server.getLocalPort());
      try (Socket socket = server.accept()) {
        assertThat(stream.record().code()).isZero();
        assertThat(socket.isConnected()).isTrue();
      }
    }
  }

  @Test
  void tellsWhyItCouldNotConnect() throws Exception {
    int free;
    try (ServerSocket server = listen()) {
      free = server.getLocalPort();
    }
    assertThat(dial("127.0.0.1", free).record().code()).isEqualTo(TaskRecord.REFUSED);
    assertThat(dial("no-such-host.invalid", 80).record().code()).isEqualTo(TaskRecord.UNRESOLVED);
    assertThat(dial("x".repeat(256), 80).record().code()).isEqualTo(TaskRecord.INVALID);
  }

  @Test
  void tellsOfAConnectionThatBroke() throws Exception {
    try (ServerSocket server = listen()) {
      TestStream stream = dial("127.0.0.1", server.getLocalPort());
      try (Socket socket = server.accept()) {
        assertThat(stream.record().code()).isZero();
        socket.setSoLinger(true, 0);
      }
      int connectionReset = 104;
      assertThat(stream.awaitExit().value()).isEqualTo(connectionReset);
    }
  }

  @Test
  void closingTheStreamClosesTheConnection() throws Exception {
    try (ServerSocket server = listen()) {
      TestStream stream = dial("127.0.0.1", server.getLocalPort());
      try (Socket socket = server.accept()) {
        assertThat(stream.record().code()).isZero();
        stream.close();
        socket.setSoTimeout(10_000);
        assertThat(socket.getInputStream().read()).isEqualTo(-1);
      }
    }
  }

  private TestStream dial(String host, int port) {
    return guest.task(DIAL, new Payload().text(host).u16(port).toBytes());
  }

  private static ServerSocket listen() throws IOException {
    ServerSocket server = new ServerSocket();
    server.bind(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0));
    server.setSoTimeout(10_000);
    return server;
  }

  private static void serve(ServerSocket server, CompletableFuture<byte[]> received) {
    try (Socket socket = server.accept();
        InputStream input = socket.getInputStream()) {
      socket.getOutputStream().write("hello".getBytes(UTF_8));
      byte[] question = input.readAllBytes();
      received.complete(question);
      socket.getOutputStream().write((", got " + new String(question, UTF_8)).getBytes(UTF_8));
    } catch (IOException e) {
      received.completeExceptionally(e);
    }
  }
}
