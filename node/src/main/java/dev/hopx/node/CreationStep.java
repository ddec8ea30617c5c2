package dev.hopx.node;

/** The steps of a sandbox's creation, in order; the text names one in errors. */
enum CreationStep {
  SLOT("taking a slot"),
  DIRECTORIES("making its directories"),
  RECORD("writing its record"),
  NAMESPACES("making its namespaces and network"),
  DISK("making its disk"),
  FILES("preparing its files"),
  LOWER_MOUNT("mounting the template"),
  ROOT_MOUNT("mounting its root file system"),
  CONTROL_GROUPS("setting its limits"),
  CHANNEL("opening the guest channel"),
  CONFIGURATION("writing the container's configuration"),
  CONTAINER("starting the container"),
  HANDSHAKE("waiting for its process 1"),
  READY("recording that it runs");

  private final String text;

  CreationStep(String text) {
    this.text = text;
  }

  String text() {
    return text;
  }

  /** Sees each step before it is done; what it throws fails the step. */
  @FunctionalInterface
  interface Observer {
    Observer NONE = step -> {};

    void before(CreationStep step);
  }
}
