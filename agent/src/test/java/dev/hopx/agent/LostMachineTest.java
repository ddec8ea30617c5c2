package dev.hopx.agent;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** A machine that ends under the calls it answers. */
class LostMachineTest {
  @Test
  void aRunInASandboxThatIsDeletedEndsWithSandboxGone() throws Exception {
    try (TestMachine machine = TestMachine.start();
        TestAgent agent = TestAgent.start(machine.guest());
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Reply> run = threads.submit(() -> agent.shell("echo here; sleep 300"));
      Instant deadline = Instant.now().plusSeconds(10);
      while (agent.shell("pgrep -fx 'sleep 300'").text("stdout").isEmpty()) {
        assertThat(Instant.now()).isBefore(deadline);
        Thread.sleep(20);
      }

      agent.alive.set(false);
      machine.end();

      Reply reply = run.get();
      assertThat(reply.status()).isEqualTo(404);
      assertThat(reply.text("code")).isEqualTo("SANDBOX_NOT_FOUND");
      assertThat(Duration.between(deadline, Instant.now())).isLessThan(Duration.ofSeconds(20));
    }
  }

  @Test
  void aRunThatWasCutOffIsAResultSinceItsClientWouldRunItAgain() throws Exception {
    try (TestMachine machine = TestMachine.start();
        TestAgent agent = TestAgent.start(machine.guest());
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Reply> run = threads.submit(() -> agent.shell("echo here; sleep 301"));
      while (agent.shell("pgrep -fx 'sleep 301'").text("stdout").isEmpty()) {
        Thread.sleep(20);
      }

      machine.end();

      Reply reply = run.get();
      assertThat(reply.status()).isEqualTo(200);
      assertThat(reply.flag("success")).isFalse();
      assertThat(reply.number("exit_code")).isEqualTo(RunOutcome.KILLED);
      assertThat(reply.text("stdout")).isEqualTo("here\n");
      assertThat(reply.text("stderr")).contains("lost");
      assertThat(agent.shell("true").status()).isEqualTo(503);
    }
  }
}
