package dev.hopx.guest;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the instructions of the built filter, as the kernel would, for calls of prlimit64. */
final class SeccompLimitsTest {
  private static final int INSTRUCTION = 8;
  private static final int ALLOW = 0x7FFF_0000;
  private static final int REFUSE_PERMISSION = 0x0005_0001;
  private static final boolean ARM = System.getProperty("os.arch").equals("aarch64");
  private static final int ARCHITECTURE = ARM ? 0xC000_00B7 : 0xC000_003E;
  private static final int PRLIMIT = ARM ? 261 : 302;

  @TempDir private Path directory;

  @Test
  void nobodyInsideChangesTheLimitsOfProcessOne() throws IOException {
    assertThat(judge(PRLIMIT, 1)).isEqualTo(REFUSE_PERMISSION);
    // The kernel looks at the low half only, so the filter has to as well.
    assertThat(judge(PRLIMIT, 0x1_0000_0001L)).isEqualTo(REFUSE_PERMISSION);
  }

  @Test
  void limitsOfOneselfAndOfOthersCanBeSet() throws IOException {
    assertThat(judge(PRLIMIT, 0)).isEqualTo(ALLOW);
    assertThat(judge(PRLIMIT, 2)).isEqualTo(ALLOW);
  }

  private int judge(int call, long firstArgument) throws IOException {
    ByteBuffer program =
        ByteBuffer.wrap(Files.readAllBytes(GuestBinaries.extractTo(directory).seccompFilter()))
            .order(ByteOrder.LITTLE_ENDIAN);
    ByteBuffer data = ByteBuffer.allocate(64).order(ByteOrder.LITTLE_ENDIAN);
    data.putInt(call).putInt(ARCHITECTURE).putLong(0).putLong(firstArgument);
    int accumulator = 0;
    int at = 0;
    while (true) {
      int code = program.getShort(at * INSTRUCTION);
      int ifTrue = program.get(at * INSTRUCTION + 2) & 0xFF;
      int ifFalse = program.get(at * INSTRUCTION + 3) & 0xFF;
      int value = program.getInt(at * INSTRUCTION + 4);
      at++;
      switch (code) {
        case 0x20 -> accumulator = data.getInt(value);
        case 0x05 -> at += value;
        case 0x15 -> at += accumulator == value ? ifTrue : ifFalse;
        case 0x35 -> at += Integer.compareUnsigned(accumulator, value) >= 0 ? ifTrue : ifFalse;
        case 0x45 -> at += (accumulator & value) != 0 ? ifTrue : ifFalse;
        case 0x06 -> {
          return value;
        }
        default -> throw new AssertionError("instruction 0x%02x".formatted(code));
      }
    }
  }
}
