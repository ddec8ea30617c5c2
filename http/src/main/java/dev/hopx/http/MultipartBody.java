package dev.hopx.http;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.Optional;
import org.eclipse.jetty.http.HttpException;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.MultiPart;
import org.eclipse.jetty.io.Content;
import org.jspecify.annotations.Nullable;

/**
 * Pulls the parts out of Jetty's push parser: reads a buffer, lets the parser queue what it finds
 * in it, and hands that out before it reads on. Memory is a few buffers, whatever the parts' sizes.
 */
final class MultipartBody implements MultipartReader {
  static final int MAX_PARTS = 1000;

  /** Bytes of the header fields of one part. */
  static final int MAX_PART_HEAD = 8 << 10;

  private static final int BUFFER = 64 << 10;

  private final InputStream body;
  private final MultiPart.Parser parser;
  private final ArrayDeque<Event> events = new ArrayDeque<>();
  private @Nullable Throwable failure;
  private boolean finished;
  private @Nullable PartContent current;

  private MultipartBody(String boundary, InputStream body) {
    this.body = body;
    parser = new MultiPart.Parser(boundary, new Queue());
    parser.setMaxParts(MAX_PARTS);
    parser.setPartHeadersMaxLength(MAX_PART_HEAD);
  }

  static MultipartReader open(String contentType, InputStream body) {
    String type = HttpField.getValueParameters(contentType, null);
    if (type == null || !type.strip().equalsIgnoreCase("multipart/form-data")) {
      throw new ApiException(
          ErrorCode.UNSUPPORTED_MEDIA_TYPE, "The content type must be multipart/form-data");
    }
    String boundary = MultiPart.extractBoundary(contentType);
    if (boundary == null || boundary.isEmpty()) {
      throw invalid("the content type names no boundary");
    }
    return new MultipartBody(boundary, body);
  }

  @Override
  public Optional<Part> next() {
    try {
      if (current != null) {
        current.skip();
        current = null;
      }
      Event event = nextEvent();
      if (event instanceof Event.Begin begin) {
        PartContent content = new PartContent();
        current = content;
        return Optional.of(new Part(begin.name, begin.fileName, content));
      }
      return Optional.empty();
    } catch (IOException gone) {
      throw new UncheckedIOException("The body did not arrive", gone);
    }
  }

  /** The next thing in the body; {@link Event.Complete} for ever at its end. */
  private Event nextEvent() throws IOException {
    while (true) {
      Event event = events.poll();
      if (event != null) {
        return event;
      }
      if (failure != null) {
        throw invalid(failure instanceof HttpException http ? http.getReason() : "it is malformed");
      }
      if (finished) {
        return new Event.Complete();
      }
      // A buffer of its own each time: what the parser hands on points into it.
      byte[] buffer = new byte[BUFFER];
      int count = body.read(buffer);
      if (count < 0) {
        parser.parse(Content.Chunk.EOF);
        if (!finished && failure == null) {
          throw invalid("it ends before its last boundary");
        }
      } else {
        parser.parse(Content.Chunk.from(ByteBuffer.wrap(buffer, 0, count), false));
      }
    }
  }

  private static ApiException invalid(String why) {
    return new ApiException(
        ErrorCode.INVALID_REQUEST, "Invalid multipart body: " + why, Map.of("field", "body"));
  }

  private sealed interface Event {
    record Begin(String name, Optional<String> fileName) implements Event {}

    record Data(ByteBuffer bytes) implements Event {}

    record End() implements Event {}

    record Complete() implements Event {}
  }

  private final class Queue extends MultiPart.AbstractPartsListener {
    @Override
    public void onPartHeaders() {
      String name = getName();
      events.add(new Event.Begin(name == null ? "" : name, Optional.ofNullable(getFileName())));
    }

    @Override
    public void onPartContent(Content.Chunk chunk) {
      if (chunk.hasRemaining()) {
        events.add(new Event.Data(chunk.getByteBuffer().slice()));
      }
    }

    @Override
    public void onPart(String name, @Nullable String fileName, HttpFields headers) {
      events.add(new Event.End());
    }

    @Override
    public void onComplete() {
      finished = true;
    }

    @Override
    public void onFailure(Throwable cause) {
      failure = cause;
    }
  }

  /** The bytes of one part. */
  private final class PartContent extends InputStream {
    private ByteBuffer chunk = ByteBuffer.allocate(0);
    private boolean ended;

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      if (length == 0) {
        return 0;
      }
      while (!chunk.hasRemaining()) {
        if (ended) {
          return -1;
        }
        switch (nextEvent()) {
          case Event.Data data -> chunk = data.bytes;
          case Event.End end -> ended = true;
          case Event.Begin begin -> throw invalid("a part has no end");
          case Event.Complete complete -> throw invalid("a part has no end");
        }
      }
      int count = Math.min(length, chunk.remaining());
      chunk.get(bytes, offset, count);
      return count;
    }

    void skip() throws IOException {
      transferTo(OutputStream.nullOutputStream());
    }
  }
}
