package dev.hopx.node;

import dev.hopx.channel.ChannelSettings;
import dev.hopx.channel.GuestException;
import dev.hopx.channel.GuestListener;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes sandboxes, step by step; when one fails, what was done is undone in reverse. */
final class SandboxCreator {
  private static final Logger LOG = LoggerFactory.getLogger(SandboxCreator.class);

  private final NodeOptions options;
  private final HostHelper host;
  private final Path guestProgram;
  private final Slots slots;
  private final Disks disks;
  private final ControlGroups controlGroups;
  private final Firewall firewall;
  private final ContainerRuntime runtime;
  private final RuntimeConfiguration configuration;
  private final SandboxRemover remover;
  private final HostCertificates certificates;
  private final String boot;
  private final CreationStep.Observer observer;

  SandboxCreator(
      NodeOptions options,
      HostHelper host,
      Path guestProgram,
      Slots slots,
      Disks disks,
      ControlGroups controlGroups,
      Firewall firewall,
      ContainerRuntime runtime,
      RuntimeConfiguration configuration,
      SandboxRemover remover,
      String boot,
      CreationStep.Observer observer) {
    this.options = options;
    this.host = host;
    this.guestProgram = guestProgram;
    this.slots = slots;
    this.disks = disks;
    this.controlGroups = controlGroups;
    this.firewall = firewall;
    this.runtime = runtime;
    this.configuration = configuration;
    this.remover = remover;
    this.certificates = new HostCertificates();
    this.boot = boot;
    this.observer = observer;
  }

  LocalSandbox create(SandboxSpec spec) {
    Creation creation = new Creation(spec);
    return finish(creation, creation::run, "made");
  }

  /** Boots a sandbox that was stopped; when that fails, it is as stopped as before. */
  LocalSandbox restart(StoredSandbox stopped) {
    remover.shutDown(stopped);
    Creation creation = new Creation(stopped.spec());
    return finish(creation, () -> creation.runAgain(stopped), "started");
  }

  private static LocalSandbox finish(
      Creation creation, Supplier<LocalSandbox> steps, String purpose) {
    try {
      LocalSandbox sandbox = steps.get();
      creation.cleanup.release();
      return sandbox;
    } catch (RuntimeException e) {
      NodeException failure =
          new NodeException(
              "Sandbox "
                  + creation.id
                  + " could not be "
                  + purpose
                  + "; "
                  + creation.step.text()
                  + " failed: "
                  + e.getMessage(),
              e);
      creation.cleanup.undo(failure);
      throw failure;
    }
  }

  /** One creation under way, on one thread. */
  private final class Creation {
    private final SandboxSpec spec;
    private final SandboxId id;
    private final SandboxPaths paths;
    private final CleanupStack cleanup = new CleanupStack();

    /** Known a little later than process 1 may dial. */
    private final CompletableFuture<Long> initPid = new CompletableFuture<>();

    private CreationStep step = CreationStep.SLOT;

    Creation(SandboxSpec spec) {
      this.spec = spec;
      this.id = spec.id();
      this.paths = SandboxPaths.of(options, id);
    }

    private void begin(CreationStep next) {
      step = next;
      observer.before(next);
    }

    LocalSandbox run() {
      begin(CreationStep.SLOT);
      Slot slot = takeSlot();
      cleanup.push("slot", () -> slots.giveBack(slot));

      begin(CreationStep.DIRECTORIES);
      makeDirectories();

      begin(CreationStep.RECORD);
      StoredSandbox beingMade =
          StoredSandbox.beingMade(
              spec,
              IsolationLevel.CONTAINER_PRIVATE_IDS,
              Instant.now().truncatedTo(ChronoUnit.MILLIS),
              slot,
              boot);
      beingMade.write(paths.record());

      begin(CreationStep.NAMESPACES);
      makeNamespaces(slot);

      begin(CreationStep.DISK);
      cleanup.push("mounts", () -> remover.unmount(paths));
      disks.make(paths, spec.resources().diskMib());

      begin(CreationStep.FILES);
      prepareFiles(slot);
      return boot(beingMade);
    }

    /** The steps that a stopped sandbox has to go through once more: all but its files. */
    LocalSandbox runAgain(StoredSandbox stopped) {
      begin(CreationStep.SLOT);
      Slot slot = stopped.slot();
      if (spec.internet()
          && (HostNetwork.hasLink(slot.link()) || HostNetwork.hasRoute(slot.address()))) {
        throw new NodeException(
            "Somebody else has its link " + slot.link() + " or its address " + slot.address());
      }

      begin(CreationStep.DIRECTORIES);
      makeRunDirectories();

      begin(CreationStep.NAMESPACES);
      makeNamespaces(slot);

      begin(CreationStep.DISK);
      cleanup.push("mounts", () -> remover.unmount(paths));
      disks.attach(paths, !stopped.boot().equals(boot));
      return boot(stopped);
    }

    /** From the files on the disk to a process 1 that answers. */
    private LocalSandbox boot(StoredSandbox record) {
      begin(CreationStep.LOWER_MOUNT);
      host.idmap(spec.rootFileSystem(), paths.lower(), paths.userNamespace());

      begin(CreationStep.ROOT_MOUNT);
      host.overlay(
          paths.data(),
          SandboxPaths.LOWER,
          SandboxPaths.UPPER,
          SandboxPaths.WORK,
          SandboxPaths.ROOT);
      // The overlay holds the template itself; the name is not needed any more.
      host.unmount(paths.lower());

      begin(CreationStep.CONTROL_GROUPS);
      SandboxGroups groups = controlGroups.of(id);
      cleanup.push("control groups", groups::remove);
      groups.create(spec.resources());

      begin(CreationStep.CHANNEL);
      GuestListener listener = listen();
      cleanup.push("guest channel", listener::close);

      begin(CreationStep.CONFIGURATION);
      writeConfiguration(groups);

      begin(CreationStep.CONTAINER);
      cleanup.push("runtime state", () -> host.removeTree(runtime.stateOf(id)));
      cleanup.push("processes", () -> remover.kill(id, Optional.empty()));
      ProcessIdentity init = startContainer();

      begin(CreationStep.HANDSHAKE);
      awaitGuest(listener);

      begin(CreationStep.READY);
      StoredSandbox running = record.running(init, boot);
      running.write(paths.record());
      return new LocalSandbox(running, paths, groups, listener);
    }

    /**
     * Passes over slots whose link or address is in use: by a sandbox that could not be adopted, or
     * by another instance with the same subnet.
     */
    private Slot takeSlot() {
      Slot slot = slots.take();
      while (HostNetwork.hasLink(slot.link()) || HostNetwork.hasRoute(slot.address())) {
        LOG.warn(
            "Slot {} is not used: somebody has its link {} or its address {}",
            slot.number(),
            slot.link(),
            slot.address());
        slot = slots.take();
      }
      return slot;
    }

    private void makeDirectories() {
      makeDirectory(paths.data(), "rwx--x--x");
      cleanup.push("data directory", () -> host.removeTree(paths.data()));
      makeDirectory(paths.state(), "rwx------");
      makeDirectory(paths.disk(), "rwxr-xr-x");
      makeDirectory(paths.lower(), "rwxr-xr-x");
      makeDirectory(paths.root(), "rwxr-xr-x");
      makeRunDirectories();
    }

    private void makeRunDirectories() {
      makeDirectory(paths.run(), "rwx--x--x");
      cleanup.push("run directory", () -> host.removeTree(paths.run()));
      makeDirectory(paths.guest(), "rwxr-xr-x");
    }

    private void makeNamespaces(Slot slot) {
      cleanup.push("namespaces", () -> remover.unpin(paths));
      if (spec.internet()) {
        firewall.ensureResolvers(HostResolvers.read().servers());
        cleanup.push("network link", () -> host.removeLink(slot.link()));
        host.createNamespaces(
            paths.userNamespace(),
            paths.networkNamespace(),
            slot.ids().base(),
            IdRange.SIZE,
            new Veth(slot.link(), slot.address(), HostNetwork.GATEWAY, HostNetwork.mtu()));
      } else {
        host.createNamespaces(
            paths.userNamespace(), paths.networkNamespace(), slot.ids().base(), IdRange.SIZE);
      }
    }

    private void prepareFiles(Slot slot) {
      Path template = spec.rootFileSystem();
      if (!Files.isDirectory(template)) {
        throw new NodeException(
            "The template's root file system " + template + " does not exist; prepare it again");
      }
      makeDirectory(paths.upper(), "rwxr-xr-x");
      makeDirectory(paths.work(), "rwx------");
      UpperLayer.own(paths.upper(), slot.ids());
      UpperLayer.own(paths.work(), slot.ids());
      UpperLayer layer = new UpperLayer(template, paths.upper(), slot.ids());
      layer.directory("proc");
      layer.directory("sys");
      layer.directory("dev");
      layer.directory("workspace");
      layer.directory(".hopx");
      layer.file("etc/hostname", id + "\n");
      layer.file("etc/hosts", hosts(slot));
      layer.file("etc/resolv.conf", spec.internet() ? HostResolvers.read().file() : "");
      if (options.trustHostCertificates() && layer.isDirectory("etc/ssl/certs")) {
        certificates
            .bundle()
            .ifPresent(bundle -> layer.file(HostCertificates.GUEST_BUNDLE, bundle));
      }
    }

    private String hosts(Slot slot) {
      return "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
          + (spec.internet() ? slot.address() : "127.0.1.1")
          + " "
          + id
          + "\n";
    }

    private GuestListener listen() {
      try {
        Files.createLink(paths.guestInit(), guestProgram);
        return GuestListener.bind(
            id.value(), paths.guestSocket(), this::isInit, ChannelSettings.DEFAULT);
      } catch (IOException e) {
        throw new NodeException("Cannot listen on " + paths.guestSocket() + ": " + e, e);
      }
    }

    /** Runs on the listener's thread; process 1 dials before the runtime has named its pid. */
    private boolean isInit(int pid) {
      try {
        return initPid.get(options.startTimeout().toNanos(), TimeUnit.NANOSECONDS) == pid;
      } catch (ExecutionException | TimeoutException _) {
        return false;
      } catch (InterruptedException _) {
        Thread.currentThread().interrupt();
        return false;
      }
    }

    private void writeConfiguration(SandboxGroups groups) {
      try {
        Files.write(
            paths.configuration(), configuration.forSandbox(spec, paths, groups.initPath()));
      } catch (IOException e) {
        throw new NodeException("Cannot write " + paths.configuration() + ": " + e, e);
      }
    }

    private ProcessIdentity startContainer() {
      try {
        ProcessIdentity init = runtime.start(id, paths);
        initPid.complete(init.pid());
        return init;
      } finally {
        initPid.cancel(false);
      }
    }

    private void awaitGuest(GuestListener listener) {
      try {
        listener.channel().awaitConnected(options.startTimeout());
      } catch (GuestException e) {
        throw new NodeException(
            e.getMessage() + " " + ContainerRuntime.logTail(paths.log()).strip(), e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new NodeException("Interrupted", e);
      }
    }

    private void makeDirectory(Path directory, String mode) {
      try {
        Files.createDirectory(directory);
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString(mode));
      } catch (IOException e) {
        throw new NodeException("Cannot make the directory " + directory + ": " + e, e);
      }
    }
  }
}
