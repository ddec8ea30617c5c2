package dev.hopx.node;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One run of the hopx-host program; its protocol is told in hopx-host.c. Owns the process and the
 * thread that reads its answers.
 */
final class HostHelperProcess implements AutoCloseable {
  /** Seconds that requests under way have to end when the helper is closed. */
  static final int CLOSE_SECONDS = 10;

  /** Bytes of a request with its line end; MAX_LINE of hopx-host.c, which ends at a longer one. */
  static final int MAXIMUM_REQUEST = 65_536;

  private static final Logger LOGGER = LoggerFactory.getLogger(HostHelperProcess.class);
  private static final String PLAIN =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._:-";

  private final Process process;
  private final OutputStream requests;
  private final ReentrantLock writing = new ReentrantLock();
  private final AtomicLong nextId = new AtomicLong();
  private final Map<Long, CompletableFuture<Reply>> pending = new ConcurrentHashMap<>();
  private volatile boolean ended;

  /**
   * What the helper answered.
   *
   * @param status {@code ok}, {@code failed}, {@code unsupported}, or {@code lost} when the helper
   *     ended before it answered
   * @param step what it was doing when it failed
   * @param subject what it was doing it to
   * @param text the system's text for the error
   */
  record Reply(String status, String step, String subject, String text) {}

  private HostHelperProcess(Process process) {
    this.process = process;
    this.requests = process.getOutputStream();
  }

  /**
   * @throws NodeException when the program cannot be run
   */
  static HostHelperProcess start(Path binary) {
    requireNonNull(binary, "binary is null");
    ProcessBuilder builder = new ProcessBuilder(List.of(binary.toAbsolutePath().toString()));
    builder.redirectError(ProcessBuilder.Redirect.INHERIT);
    // Nothing of the server's environment, which may hold secrets, is needed there.
    builder.environment().clear();
    try {
      HostHelperProcess helper = new HostHelperProcess(builder.start());
      // A platform thread: a blocked read of a pipe would hold a carrier of the virtual ones.
      Thread.ofPlatform().daemon().name("hopx-host-replies").start(helper::readReplies);
      return helper;
    } catch (IOException e) {
      throw new NodeException("Cannot start the host helper " + binary + ": " + e.getMessage(), e);
    }
  }

  /** False once the helper has ended or is about to: requests given to it then are lost. */
  boolean isAlive() {
    return !ended && process.isAlive();
  }

  long pid() {
    return process.pid();
  }

  /**
   * Sends a request and waits for its end, also when the calling thread is interrupted.
   *
   * @throws NodeException when the request is longer than the helper takes
   */
  Reply call(List<String> words) {
    long id = nextId.getAndIncrement();
    String line =
        words.stream()
            .map(HostHelperProcess::encode)
            .collect(Collectors.joining(" ", id + " ", "\n"));
    if (line.length() > MAXIMUM_REQUEST) {
      throw new NodeException(
          "A request to the host helper must have at most %d bytes, not %d: use shorter paths"
              .formatted(MAXIMUM_REQUEST, line.length()));
    }
    CompletableFuture<Reply> reply = new CompletableFuture<>();
    pending.put(id, reply);
    writing.lock();
    try {
      requests.write(line.getBytes(US_ASCII));
      requests.flush();
    } catch (IOException e) {
      pending.remove(id);
      return lost();
    } finally {
      writing.unlock();
    }
    // The reader fails all that is pending when it ends; what came after that is failed here.
    if (ended && pending.remove(id) != null) {
      return lost();
    }
    return reply.join();
  }

  private void readReplies() {
    try (BufferedReader replies =
        new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8))) {
      String line;
      while ((line = replies.readLine()) != null) {
        String[] words = line.split(" ", -1);
        CompletableFuture<Reply> reply = pending.remove(Long.valueOf(words[0]));
        if (reply != null) {
          reply.complete(parse(words));
        }
      }
    } catch (IOException | RuntimeException e) {
      LOGGER.warn("The host helper's answers cannot be read; it is started again", e);
      process.destroyForcibly();
    } finally {
      // The end of the stream means that the processes of all its requests are gone as well.
      ended = true;
      for (Long id : List.copyOf(pending.keySet())) {
        CompletableFuture<Reply> reply = pending.remove(id);
        if (reply != null) {
          reply.complete(lost());
        }
      }
    }
  }

  private static Reply parse(String[] words) {
    if (words.length == 2) {
      return new Reply(words[1], "", "", "");
    }
    return new Reply(words[1], decode(words[3]), decode(words[4]), decode(words[5]));
  }

  private static Reply lost() {
    return new Reply("lost", "", "", "");
  }

  static String encode(String word) {
    if (word.isEmpty()) {
      return "%";
    }
    StringBuilder encoded = new StringBuilder();
    for (byte b : word.getBytes(UTF_8)) {
      if (b > 0 && PLAIN.indexOf(b) >= 0) {
        encoded.append((char) b);
      } else {
        encoded.append('%').append("%02X".formatted(b & 0xFF));
      }
    }
    return encoded.toString();
  }

  static String decode(String word) {
    if (word.equals("%")) {
      return "";
    }
    byte[] decoded = new byte[word.length()];
    int length = 0;
    for (int i = 0; i < word.length(); i++) {
      if (word.charAt(i) == '%') {
        decoded[length++] = (byte) Integer.parseInt(word.substring(i + 1, i + 3), 16);
        i += 2;
      } else {
        decoded[length++] = (byte) word.charAt(i);
      }
    }
    return new String(decoded, 0, length, UTF_8);
  }

  /** Lets the requests under way end, then the program. */
  @Override
  public void close() {
    writing.lock();
    try {
      requests.close();
    } catch (IOException e) {
      LOGGER.debug("The host helper had ended before it was closed", e);
    } finally {
      writing.unlock();
    }
    try {
      if (process.waitFor(CLOSE_SECONDS, TimeUnit.SECONDS)) {
        return;
      }
      LOGGER.warn("The host helper did not end within {} seconds and is killed", CLOSE_SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    process.destroyForcibly();
  }
}
