package dev.hopx.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A store on a real disk that is really full, until the files of a sandbox go. */
final class FullDiskTest {
  @TempDir private Path disk;
  private boolean mounted;
  private ControlFixture control;

  @BeforeEach
  void open() throws Exception {
    mounted = run("mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs", disk.toString()) == 0;
    assumeTrue(mounted, "NOT TESTED: what a full disk does; mounting a tmpfs needs root");
    control = new ControlFixture(disk);
  }

  @AfterEach
  void close() throws Exception {
    if (mounted) {
      removeFill();
      control.close();
      assertThat(run("umount", disk.toString())).isZero();
    }
  }

  @Test
  void doesNotKeepASandboxFromBeingDeleted() {
    SandboxRecord sandbox = control.create();
    fillUntilFilesGo();
    control.service.delete(control.admin(), sandbox.id().value());
    assertThat(control.node.list()).isEmpty();
    assertThat(control.service.find(sandbox.id())).isEmpty();
    assertThat(control.endpoints.open()).isEmpty();
    assertThat(control.create().status()).isEqualTo(SandboxStatus.RUNNING);
  }

  @Test
  void doesNotKeepASandboxFromExpiring() {
    SandboxRecord sandbox = control.create(60);
    SandboxRecord other = control.create();
    fillUntilFilesGo();
    control.clock.advance(Duration.ofSeconds(61));
    SandboxServiceTest.await(
        () ->
            control
                    .store
                    .read(handle -> SandboxRows.find(handle, sandbox.id()))
                    .orElseThrow()
                    .status()
                == SandboxStatus.DELETED);
    assertThatThrownBy(() -> control.service.get(control.admin(), sandbox.id().value()))
        .isInstanceOfSatisfying(
            ApiException.class,
            failure -> assertThat(failure.code()).isEqualTo(ErrorCode.SANDBOX_EXPIRED));
    assertThat(control.service.find(other.id())).isPresent();
  }

  @Test
  void isSaidInWordsAndPasses() {
    SandboxRecord sandbox = control.create();
    fill();
    assertThatThrownBy(() -> changeTimeout(sandbox))
        .isInstanceOfSatisfying(
            ApiException.class,
            failure -> assertThat(failure.code()).isEqualTo(ErrorCode.SERVICE_UNAVAILABLE))
        .hasMessageContaining("disk");
    removeFill();
    assertThat(changeTimeout(sandbox).timeoutSeconds()).hasValue(500);
  }

  private SandboxRecord changeTimeout(SandboxRecord sandbox) {
    return control.service.changeTimeout(
        control.admin(), sandbox.id().value(), OptionalLong.of(500));
  }

  private void fillUntilFilesGo() {
    control.node.duringDelete(_ -> removeFill());
    fill();
  }

  private void fill() {
    byte[] block = new byte[1024];
    try (OutputStream output = Files.newOutputStream(disk.resolve("fill"))) {
      while (true) {
        output.write(block);
      }
    } catch (IOException full) {
      assertThat(full).hasMessageContaining("No space left");
    }
  }

  private void removeFill() {
    try {
      Files.deleteIfExists(disk.resolve("fill"));
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  private static int run(String... command) throws Exception {
    return new ProcessBuilder(command).inheritIO().start().waitFor();
  }
}
