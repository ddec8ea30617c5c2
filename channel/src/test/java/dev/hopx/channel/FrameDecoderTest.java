package dev.hopx.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.fail;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class FrameDecoderTest {
  private static final int ITERATIONS = 100_000;
  private static final long SEED = 0x686f7078;

  @Test
  void givesWholeFramesAndKeepsTheRest() throws ProtocolViolation {
    byte[] ping = Frames.ping(Protocol.PING, 7);
    ByteBuffer buffer = ByteBuffer.allocate(100).put(ping).put(ping, 0, 12).flip();
    List<Long> values = new ArrayList<>();

    int needed =
        FrameDecoder.decode(buffer, (type, stream, payload) -> values.add(payload.getLong()));

    assertThat(values).containsExactly(7L);
    assertThat(buffer.remaining()).isEqualTo(12);
    assertThat(needed).isEqualTo(ping.length);
  }

  @Test
  void aFrameMayHaveTheGreatestLengthAndNotOneByteMore() throws ProtocolViolation {
    int[] seen = new int[1];
    ByteBuffer buffer = ByteBuffer.allocate(Protocol.HEADER + Protocol.MAX_PAYLOAD_TO_HOST);
    Frames.putHeader(buffer, Protocol.MAX_PAYLOAD_TO_HOST, Protocol.STREAMS, 0);
    int needed =
        FrameDecoder.decode(buffer, (type, stream, payload) -> seen[0] = payload.remaining());
    assertThat(seen[0]).isEqualTo(Protocol.MAX_PAYLOAD_TO_HOST);
    assertThat(needed).isEqualTo(Protocol.HEADER);

    ByteBuffer header = ByteBuffer.allocate(Protocol.HEADER);
    Frames.putHeader(header, Protocol.MAX_PAYLOAD_TO_HOST + 1, Protocol.STREAMS, 0);
    assertThatThrownBy(() -> FrameDecoder.decode(header, (type, stream, payload) -> {}))
        .isInstanceOf(ProtocolViolation.class)
        .hasMessageContaining("65569");
  }

  @Test
  void aHandlerThatReadsTooLittleDoesNotShiftTheNextFrame() throws ProtocolViolation {
    ByteBuffer buffer =
        ByteBuffer.allocate(100)
            .put(Frames.ping(Protocol.PING, 1))
            .put(Frames.ping(Protocol.PONG, 2))
            .flip();
    List<Integer> types = new ArrayList<>();
    int needed = FrameDecoder.decode(buffer, (type, stream, payload) -> types.add(type));
    assertThat(types).containsExactly(Protocol.PING, Protocol.PONG);
    assertThat(needed).isEqualTo(Protocol.HEADER);
  }

  /** Mutated frames end in frames or in a violation, never in another exception or a wrong size. */
  @Test
  void survivesMutatedBytes() {
    Random random = new Random(SEED);
    byte[][] seeds = {
      Frames.ping(Protocol.PING, 1),
      Frames.empty(Protocol.STARTED, 1),
      Frames.credit(1, 0, 10, 20),
      Frames.data(1, 0, new byte[64], 0, 64),
      Frames.end(1, 64),
      FakeGuest.exitPayload(1, 0).frame(Protocol.EXIT, 1),
      new PayloadWriter().u32(2).u8(4).frame(Protocol.FAILED, 1),
      new PayloadWriter()
          .u8(0)
          .u32(1)
          .u32(1)
          .u8(1)
          .u32(9)
          .u8(2)
          .u32(8)
          .string("tag", "x")
          .u8(1)
          .u64(0)
          .u64(0)
          .u8(1)
          .u64(0)
          .u64(5)
          .u8(1)
          .u64(0)
          .u64(0)
          .frame(Protocol.STREAMS, 0)
    };
    for (int i = 0; i < ITERATIONS; i++) {
      byte[] input = mutated(random, seeds);
      try {
        feed(input);
      } catch (ProtocolViolation e) {
        // What a wrong frame is for.
      } catch (RuntimeException e) {
        fail("seed %d, iteration %d, input %s".formatted(SEED, i, Arrays.toString(input)), e);
      }
    }
  }

  private static byte[] mutated(Random random, byte[][] seeds) {
    ByteBuffer buffer = ByteBuffer.allocate(512);
    for (int frames = 1 + random.nextInt(3); frames > 0; frames--) {
      buffer.put(seeds[random.nextInt(seeds.length)]);
    }
    byte[] bytes =
        Arrays.copyOf(buffer.array(), Math.max(1, buffer.position() - random.nextInt(3)));
    for (int changes = random.nextInt(4); changes > 0; changes--) {
      bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
    }
    return bytes;
  }

  /** As the channel does: decode, then read the fields of a stream or of a list. */
  private static void feed(byte[] input) throws ProtocolViolation {
    GuestStream stream = GuestStream.ofProcess(1, true, true);
    Connection connection =
        new Connection("fuzz", FakeSockets.closed(), new FakeSockets.DeafOwner());
    stream.open(connection, Frames.empty(Protocol.SPAWN, 1));
    ByteBuffer buffer = ByteBuffer.wrap(input);
    int needed =
        FrameDecoder.decode(
            buffer,
            (type, id, payload) -> {
              switch (type) {
                case Protocol.STREAMS -> {
                  ListedStream.Page page = ListedStream.parse(payload);
                  for (ListedStream entry : page.streams()) {
                    stream.attach(connection, entry);
                  }
                }
                case Protocol.PING, Protocol.PONG -> {
                  PayloadReader reader = new PayloadReader(payload);
                  if (reader.i64() != 0) {
                    reader.end();
                  }
                }
                default -> stream.frame(connection, type, payload);
              }
            });
    assertThat(needed).isBetween(Protocol.HEADER, Protocol.HEADER + Protocol.MAX_PAYLOAD_TO_HOST);
    assertThat(stream.available(Protocol.OUT)).isBetween(0, Protocol.MAX_WINDOW);
  }
}
