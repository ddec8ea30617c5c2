package dev.hopx.channel;

/** Words for FAILED; the caller that knows program and directory adds them. */
final class StartFailures {
  private StartFailures() {}

  static GuestException of(int errno, int stage) throws ProtocolViolation {
    String what =
        switch (stage) {
          case Protocol.STAGE_FORK -> "No process could be made";
          case Protocol.STAGE_DIRECTORY -> "The working directory cannot be entered";
          case Protocol.STAGE_IDENTITY -> "The user cannot be taken on";
          case Protocol.STAGE_EXEC -> "The program cannot be executed";
          case Protocol.STAGE_TERMINAL -> "No terminal could be made";
          case Protocol.STAGE_LIMITS -> "The limits cannot be set";
          default -> throw new ProtocolViolation("FAILED at stage " + stage);
        };
    return new GuestException(Errno.kind(errno), errno, what + ": " + Errno.text(errno));
  }
}
