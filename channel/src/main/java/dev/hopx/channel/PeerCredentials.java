package dev.hopx.channel;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.nio.channels.SocketChannel;

/**
 * Who is at the other end of a Unix socket, as the kernel says. The JDK's own socket option leaves
 * the process id out, so the option is read by a direct call.
 */
final class PeerCredentials {
  private static final int SOL_SOCKET = 1;
  private static final int SO_PEERCRED = 17;

  /** {@code struct ucred}: pid, uid, gid. */
  private static final int UCRED_SIZE = 12;

  private static final StructLayout ERRNO_LAYOUT = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      ERRNO_LAYOUT.varHandle(MemoryLayout.PathElement.groupElement("errno"));
  private static final MethodHandle GETSOCKOPT = getsockopt();
  private static final MethodHandle DESCRIPTOR = descriptor();

  private PeerCredentials() {}

  /**
   * Process id of the peer of {@code socket} at the time it connected, in this process' own pid
   * namespace; 0 when it has none there. No other thread may close the socket meanwhile: its
   * descriptor could belong to another one by then.
   */
  static int pid(SocketChannel socket) throws IOException {
    // Safe: the kernel writes at most `length` bytes into `credentials`, which has just that many,
    // and both live until the arena is closed, after the call.
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment errno = arena.allocate(ERRNO_LAYOUT);
      MemorySegment credentials = arena.allocate(UCRED_SIZE, ValueLayout.JAVA_INT.byteAlignment());
      MemorySegment length = arena.allocateFrom(ValueLayout.JAVA_INT, UCRED_SIZE);
      int descriptor = (int) DESCRIPTOR.invoke(socket);
      int result =
          (int)
              GETSOCKOPT.invokeExact(
                  errno, descriptor, SOL_SOCKET, SO_PEERCRED, credentials, length);
      if (result != 0 || length.get(ValueLayout.JAVA_INT, 0) != UCRED_SIZE) {
        throw new IOException(
            "getsockopt(SO_PEERCRED) failed: error " + (int) ERRNO.get(errno, 0L));
      }
      return credentials.get(ValueLayout.JAVA_INT, 0);
    } catch (IOException | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  private static MethodHandle getsockopt() {
    Linker linker = Linker.nativeLinker();
    return linker.downcallHandle(
        linker.defaultLookup().find("getsockopt").orElseThrow(),
        FunctionDescriptor.of(
            ValueLayout.JAVA_INT,
            ValueLayout.JAVA_INT,
            ValueLayout.JAVA_INT,
            ValueLayout.JAVA_INT,
            ValueLayout.ADDRESS,
            ValueLayout.ADDRESS),
        Linker.Option.captureCallState("errno"));
  }

  private static MethodHandle descriptor() {
    try {
      Class<?> type = Class.forName("sun.nio.ch.SelChImpl");
      return MethodHandles.lookup()
          .findVirtual(type, "getFDVal", MethodType.methodType(int.class))
          .asType(MethodType.methodType(int.class, SocketChannel.class));
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(
          "The JVM must be started with --add-exports java.base/sun.nio.ch=ALL-UNNAMED, so that the"
              + " process behind a sandbox's socket can be told",
          e);
    }
  }

  /** Fails with what to do when the JVM was not started as needed. */
  static void check() {
    if (DESCRIPTOR == null || GETSOCKOPT == null) {
      throw new IllegalStateException("No access to SO_PEERCRED");
    }
  }
}
