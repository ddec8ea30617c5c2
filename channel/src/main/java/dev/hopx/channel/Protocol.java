package dev.hopx.channel;

/**
 * Numbers of {@code guest/PROTOCOL.md}. Types are unsigned bytes, sizes are bytes, stream ids are
 * unsigned 32 bit numbers held in a {@code long}.
 */
final class Protocol {
  static final int MAGIC = 0x484F5058;
  static final int VERSION = 1;

  static final int HEADER = 9;
  static final int MAX_PAYLOAD_TO_GUEST = 262_144;
  static final int MAX_PAYLOAD_TO_HOST = 65_568;
  static final int MAX_DATA = 65_536;
  static final int MAX_WINDOW = 262_144;
  static final int MAX_STREAMS = 4_096;
  static final int MAX_TAG = 255;
  static final int MAX_PATH = 4_095;

  /** A path the guest made: a directory's longest path and a missing or watched part below it. */
  static final int MAX_RESOLVED_PATH = 8_191;

  static final long MAX_STREAM_ID = 0xFFFF_FFFFL;

  /** Longest name of a directory entry on Linux. */
  static final int MAX_NAME = 255;

  static final int BOOT_ID = 16;
  static final int HELLO_PAYLOAD = 4 + 2 + 2 + BOOT_ID + 4 + 4;
  static final int PING_PAYLOAD = 8;

  static final int HELLO = 0x01;
  static final int WELCOME = 0x02;
  static final int REFUSE = 0x03;
  static final int PING = 0x04;
  static final int PONG = 0x05;
  static final int DATA = 0x10;
  static final int EOF = 0x11;
  static final int CREDIT = 0x12;
  static final int SPAWN = 0x20;
  static final int SPAWNED = 0x21;
  static final int GO = 0x22;
  static final int STARTED = 0x23;
  static final int FAILED = 0x24;
  static final int EXIT = 0x25;
  static final int SIGNAL = 0x26;
  static final int RESIZE = 0x27;
  static final int CLOSE = 0x28;
  static final int TASK = 0x30;
  static final int LIST = 0x40;
  static final int STREAMS = 0x41;
  static final int RESUME = 0x42;

  static final int REFUSE_VERSION = 1;
  static final int REFUSE_UNEXPECTED = 2;

  static final int SPAWN_STDIN = 1;
  static final int SPAWN_PTY = 2;
  static final int SPAWN_HOLD = 4;
  static final int SPAWN_KEEP = 8;
  static final int SPAWN_MERGE = 16;
  static final int SPAWN_FLAGS = 31;

  static final int EXITED = 1;
  static final int KILLED = 2;
  static final int MAX_SIGNAL = 64;
  static final int SIGKILL = 9;

  static final int KIND_PROCESS = 1;
  static final int KIND_WORKER = 2;
  static final int STATE_HELD = 1;
  static final int STATE_RUNNING = 2;
  static final int STATE_EXITED = 3;
  static final int CHANNEL_NONE = 0;
  static final int CHANNEL_OPEN = 1;
  static final int CHANNEL_ENDED = 2;

  static final int IN = 0;
  static final int OUT = 1;
  static final int ERR = 2;
  static final int CHANNELS = 3;

  static final int STAGE_FORK = 1;
  static final int STAGE_DIRECTORY = 2;
  static final int STAGE_IDENTITY = 3;
  static final int STAGE_EXEC = 4;
  static final int STAGE_TERMINAL = 5;
  static final int STAGE_LIMITS = 6;

  static final int OP_STAT = 1;
  static final int OP_LIST = 2;
  static final int OP_READ = 3;
  static final int OP_WRITE = 4;
  static final int OP_MKDIR = 5;
  static final int OP_REMOVE = 6;
  static final int OP_RENAME = 7;
  static final int OP_CHMOD = 8;
  static final int OP_WATCH = 9;
  static final int OP_DIAL = 10;

  static final int WRITE_KEEP_MODE = 0xFFFF_FFFF;
  static final int WRITE_PARENTS = 1;
  static final int WRITE_EXCLUSIVE = 2;
  static final long READ_TO_END = 0xFFFF_FFFF_FFFF_FFFFL;

  private Protocol() {}
}
