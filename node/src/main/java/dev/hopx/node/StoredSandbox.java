package dev.hopx.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * {@code sandbox.json}: all a new server has to know of a sandbox. Plain values only, because older
 * and newer servers read it: fields may be added, never changed.
 *
 * @param boot the host's boot in which it was made; pids mean nothing in another
 * @param init pid and start time of process 1; empty while the sandbox is being made
 * @param stopped when it was asked to stop; empty while it is to run
 */
record StoredSandbox(
    String id,
    String template,
    String rootFileSystem,
    Resources resources,
    boolean internet,
    Map<String, String> labels,
    String isolation,
    String created,
    Slot slot,
    String boot,
    Optional<ProcessIdentity> init,
    Optional<String> stopped) {
  private static final JsonMapper MAPPER =
      JsonMapper.builder().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES).build();

  static StoredSandbox beingMade(
      SandboxSpec spec, IsolationLevel isolation, Instant created, Slot slot, String boot) {
    return new StoredSandbox(
        spec.id().value(),
        spec.template(),
        spec.rootFileSystem().toString(),
        spec.resources(),
        spec.internet(),
        spec.labels(),
        isolation.name(),
        created.toString(),
        slot,
        boot,
        Optional.empty(),
        Optional.empty());
  }

  /**
   * @throws NodeException when the file is there and cannot be understood
   */
  static Optional<StoredSandbox> read(Path file) {
    try {
      if (!Files.exists(file)) {
        return Optional.empty();
      }
      return Optional.of(MAPPER.readValue(Files.readAllBytes(file), StoredSandbox.class));
    } catch (IOException e) {
      throw new NodeException("Cannot read " + file + ": " + e, e);
    } catch (JacksonException e) {
      throw new NodeException("Cannot understand " + file + ": " + e.getOriginalMessage(), e);
    }
  }

  void write(Path file) {
    AtomicFile.write(file, MAPPER.writeValueAsBytes(this));
  }

  /** The same, started in the boot {@code currentBoot}. */
  StoredSandbox running(ProcessIdentity process, String currentBoot) {
    return new StoredSandbox(
        id,
        template,
        rootFileSystem,
        resources,
        internet,
        labels,
        isolation,
        created,
        slot,
        currentBoot,
        Optional.of(process),
        Optional.empty());
  }

  /** The same, to be stopped; still names process 1, which has to be ended. */
  StoredSandbox stopped(Instant now) {
    return new StoredSandbox(
        id,
        template,
        rootFileSystem,
        resources,
        internet,
        labels,
        isolation,
        created,
        slot,
        boot,
        init,
        Optional.of(now.toString()));
  }

  SandboxSpec spec() {
    return new SandboxSpec(
        new SandboxId(id), template, Path.of(rootFileSystem), resources, internet, labels);
  }

  /** Its process 1 if that runs now, in the boot {@code currentBoot}. */
  Optional<ProcessIdentity> runningInit(String currentBoot) {
    return boot.equals(currentBoot) ? init.filter(ProcessIdentity::isAlive) : Optional.empty();
  }
}
