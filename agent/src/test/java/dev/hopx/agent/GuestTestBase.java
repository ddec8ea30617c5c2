package dev.hopx.agent;

import static java.util.Objects.requireNonNull;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;

/** One machine and its agent for all tests of a class. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class GuestTestBase {
  private @Nullable TestMachine startedMachine;
  private @Nullable TestAgent startedAgent;

  @BeforeAll
  void startMachine() throws Exception {
    startedMachine = TestMachine.start();
    startedAgent = TestAgent.start(startedMachine.guest());
  }

  @AfterAll
  void stopMachine() throws Exception {
    try {
      if (startedAgent != null) {
        startedAgent.close();
      }
    } finally {
      if (startedMachine != null) {
        startedMachine.close();
      }
    }
  }

  TestMachine machine() {
    return requireNonNull(startedMachine);
  }

  TestAgent agent() {
    return requireNonNull(startedAgent);
  }
}
