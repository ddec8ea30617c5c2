package dev.hopx.guest;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;

/** Writes a payload in the wire's form. */
final class Payload {
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
  private final DataOutputStream out = new DataOutputStream(bytes);

  Payload u8(int value) {
    return write(() -> out.writeByte(value));
  }

  Payload u16(int value) {
    return write(() -> out.writeShort(value));
  }

  Payload u32(long value) {
    return write(() -> out.writeInt((int) value));
  }

  Payload u64(long value) {
    return write(() -> out.writeLong(value));
  }

  Payload raw(byte[] value) {
    return write(() -> out.write(value));
  }

  Payload text(String value) {
    byte[] encoded = value.getBytes(UTF_8);
    return u32(encoded.length).raw(encoded);
  }

  Payload texts(List<String> values) {
    u32(values.size());
    values.forEach(this::text);
    return this;
  }

  byte[] toBytes() {
    return bytes.toByteArray();
  }

  private Payload write(Writing writing) {
    try {
      writing.run();
      return this;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private interface Writing {
    void run() throws IOException;
  }
}
