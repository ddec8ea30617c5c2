package dev.hopx.compat;

import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;

/** One real server for all tests of a class. */
@NullUnmarked // fields are set by the life cycle of JUnit
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class ServerTestBase {
  RunningServer server;

  @BeforeAll
  final void startServer() {
    server = RunningServer.start(getClass().getSimpleName());
  }

  @AfterAll
  final void stopServer() {
    if (server != null) {
      server.close();
    }
  }
}
