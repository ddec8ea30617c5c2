package dev.hopx.http;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** A client that sends exactly the bytes a test gives it. */
final class RawClient implements AutoCloseable {
  private static final int TIMEOUT_MILLIS = 20_000;

  private final Socket socket;
  private final InputStream input;

  RawClient(InetSocketAddress address) throws IOException {
    socket = new Socket();
    socket.setTcpNoDelay(true);
    socket.setSoTimeout(TIMEOUT_MILLIS);
    socket.connect(address, TIMEOUT_MILLIS);
    input = new BufferedInputStream(socket.getInputStream());
  }

  RawClient send(String text) throws IOException {
    return send(text.getBytes(StandardCharsets.UTF_8));
  }

  RawClient send(byte[] bytes) throws IOException {
    socket.getOutputStream().write(bytes);
    socket.getOutputStream().flush();
    return this;
  }

  Reply receive() throws IOException {
    return receive(true);
  }

  /** Reads one response; {@code body} false after HEAD. */
  Reply receive(boolean body) throws IOException {
    String statusLine = line();
    Map<String, String> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    while (true) {
      String line = line();
      if (line.isEmpty()) {
        break;
      }
      int colon = line.indexOf(':');
      headers.put(line.substring(0, colon), line.substring(colon + 1).strip());
    }
    int status = Integer.parseInt(statusLine.split(" ")[1]);
    byte[] bytes = new byte[0];
    if (body && status >= 200) {
      if (headers
          .getOrDefault("Transfer-Encoding", "")
          .toLowerCase(Locale.ROOT)
          .equals("chunked")) {
        bytes = chunks();
      } else if (headers.containsKey("Content-Length")) {
        int length = Integer.parseInt(headers.get("Content-Length"));
        bytes = input.readNBytes(length);
        if (bytes.length < length) {
          throw new IOException("The body ends early");
        }
      } else {
        bytes = input.readAllBytes();
      }
    }
    return new Reply(status, headers, new String(bytes, StandardCharsets.UTF_8));
  }

  /** Next byte, -1 at the end. */
  int read() throws IOException {
    return input.read();
  }

  void shutdownOutput() throws IOException {
    socket.shutdownOutput();
  }

  /** Ends the connection with a reset instead of an orderly end. */
  void reset() throws IOException {
    socket.setSoLinger(true, 0);
    socket.close();
  }

  void readTimeout(int milliseconds) throws IOException {
    socket.setSoTimeout(milliseconds);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }

  private byte[] chunks() throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    while (true) {
      int size = Integer.parseInt(line(), 16);
      byte[] chunk = input.readNBytes(size);
      if (chunk.length < size) {
        throw new IOException("The body ends early");
      }
      all.writeBytes(chunk);
      line();
      if (size == 0) {
        return all.toByteArray();
      }
    }
  }

  private String line() throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    while (true) {
      int next = input.read();
      if (next < 0) {
        throw new IOException("The connection ends within a line: " + line);
      }
      if (next == '\n') {
        return line.toString(StandardCharsets.ISO_8859_1).stripTrailing();
      }
      line.write(next);
    }
  }

  record Reply(int status, Map<String, String> headers, String body) {
    String header(String name) {
      return headers.getOrDefault(name, "");
    }
  }
}
