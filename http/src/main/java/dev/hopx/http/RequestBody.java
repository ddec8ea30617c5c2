package dev.hopx.http;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import org.eclipse.jetty.http.HttpException;
import org.jspecify.annotations.Nullable;

/** A request body whose faults are the client's: malformed chunks, an early end, silence. */
final class RequestBody extends FilterInputStream {
  RequestBody(InputStream body) {
    super(body);
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
  }

  @Override
  public int read(byte[] bytes, int offset, int length) {
    try {
      return super.read(bytes, offset, length);
    } catch (IOException | RuntimeException failure) {
      throw new ApiException(ErrorCode.INVALID_REQUEST, describe(failure), Map.of(), failure);
    }
  }

  private static String describe(Throwable failure) {
    for (@Nullable Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof TimeoutException) {
        return "The body did not arrive in time";
      }
      if (cause instanceof HttpException malformed && malformed.getReason() != null) {
        return "The body is malformed: " + malformed.getReason();
      }
    }
    return "The body ended early";
  }
}
