package dev.hopx.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hopx.channel.GuestException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

final class NodeConcurrencyTest {
  @Test
  void manyMayDeleteTheSameSandbox() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      Sandbox sandbox = lab.create();
      assertThat(lab.node().find(sandbox.id())).contains(sandbox);
      try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
        List<Future<?>> deletions = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
          deletions.add(threads.submit(() -> lab.node().delete(sandbox.id())));
        }
        for (Future<?> deletion : deletions) {
          deletion.get();
        }
      }
      lab.node().delete(sandbox.id());
      assertThat(lab.node().find(sandbox.id())).isEmpty();
      assertThat(lab.node().awaitRemovals(Duration.ofSeconds(30))).isTrue();
      assertThat(lab.mounts()).isEmpty();
      assertThatThrownBy(() -> NodeLab.sh(sandbox, "true"))
          .isInstanceOfSatisfying(
              GuestException.class, e -> assertThat(e.kind()).isEqualTo(GuestException.Kind.LOST));
    }
  }

  @Test
  void oneIdIsMadeOnce() throws Exception {
    try (NodeLab lab = new NodeLab()) {
      LocalNode node = lab.node();
      SandboxSpec spec = lab.spec();
      AtomicInteger refused = new AtomicInteger();
      try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
        for (int i = 0; i < 4; i++) {
          threads.execute(
              () -> {
                try {
                  node.create(spec);
                } catch (NodeException e) {
                  assertThat(e).hasMessageContaining("exists already");
                  refused.incrementAndGet();
                }
              });
        }
      }
      assertThat(refused).hasValue(3);
      assertThat(node.list()).hasSize(1);
    }
  }

  @Test
  void anInterruptedCallerLeavesNothingHalfMade() {
    try (NodeLab lab = new NodeLab()) {
      LocalNode node = lab.node();
      Thread.currentThread().interrupt();
      Sandbox sandbox = node.create(lab.spec());
      assertThat(Thread.interrupted()).isTrue();
      assertThat(sandbox.isAlive()).isTrue();
      Thread.currentThread().interrupt();
      node.delete(sandbox.id());
      assertThat(Thread.interrupted()).isTrue();
      assertThat(node.awaitRemovals(Duration.ofSeconds(30))).isTrue();
      assertThat(lab.links()).isEmpty();
    }
  }

  @Test
  void twoInstancesMayShareASubnet() {
    try (NodeLab lab = new NodeLab();
        NodeLab other = new NodeLab()) {
      LocalSandbox first = (LocalSandbox) lab.create();
      LocalSandbox second = (LocalSandbox) other.create();
      assertThat(second.slot().address()).isNotEqualTo(first.slot().address());
      assertThat(HostNetwork.hasRoute(second.slot().address())).isTrue();
      assertThat(HostNetwork.hasRoute("198.51.100.77")).isFalse();
      assertThat(NodeLab.sh(second, "echo works").output()).isEqualTo("works");
    }
  }

  @Test
  void keyedLocksKeepNothing() {
    KeyedLocks<String> locks = new KeyedLocks<>();
    assertThat(locks.with("key", () -> locks.with("key", () -> "reentrant")))
        .isEqualTo("reentrant");
    assertThatThrownBy(
            () ->
                locks.with(
                    "key",
                    () -> {
                      throw new NodeException("failed");
                    }))
        .hasMessage("failed");
    assertThat(locks.size()).isZero();
  }
}
