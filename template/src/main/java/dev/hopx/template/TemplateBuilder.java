package dev.hopx.template;

import static java.util.Objects.requireNonNull;

import dev.hopx.template.BuildOutput.Step;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Makes a root file system from a recipe with mmdebstrap, from the host's own Debian mirror.
 *
 * <p>Needs root. Everything it starts dies with this process, every mount it makes is in a mount
 * namespace of its own.
 */
final class TemplateBuilder implements RootFileSystemBuilder {
  // The debug log is the one place that holds what apt printed: no password may get there.
  private static final Pattern CREDENTIALS = Pattern.compile("(://)[^/\\s@]+@");
  private static final Pattern FACT = Pattern.compile("([a-zA-Z0-9_+.-]+)=(\\S.*)");
  private static final String CHROOT =
      """
      set -e
      mount -t proc proc "$1/proc"
      mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
      mkdir -p "$1/tmp/hopx-build"
      cp "$2" "$1/tmp/hopx-build/script"
      exec chroot "$1" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive /bin/bash /tmp/hopx-build/script
      """;

  private final Path archives;
  private final Path etcApt;

  /**
   * @param archives directory that keeps downloaded packages for the next build
   * @param etcApt normally /etc/apt
   */
  TemplateBuilder(Path archives, Path etcApt) {
    this.archives = requireNonNull(archives, "archives is null").toAbsolutePath();
    this.etcApt = requireNonNull(etcApt, "etcApt is null");
  }

  @Override
  public Map<String, String> build(Recipe recipe, Path directory, BuildProgressListener listener) {
    List<AptSource> sources = AptSources.forRelease(etcApt, recipe.suite());
    BuildOutput output = new BuildOutput(recipe.name(), System::nanoTime);
    listener.progress(output.progress());
    Path root = directory.resolve("rootfs");
    try (BufferedWriter log =
        Files.newBufferedWriter(directory.resolve("build.log"), StandardCharsets.UTF_8)) {
      install(
          recipe,
          sources,
          directory,
          root,
          line -> {
            log(log, line);
            if (output.accept(line)) {
              listener.progress(output.progress());
            }
          });
      writeSources(root, sources);
      output.customizing(recipe.customizations().size());
      for (Script script : recipe.customizations()) {
        listener.progress(output.progress());
        runInside(recipe, script, root, directory, line -> log(log, line));
        output.customized();
      }
      output.enter(Step.VERIFY);
      listener.progress(output.progress());
      Map<String, String> facts = new LinkedHashMap<>();
      runInside(
          recipe,
          recipe.verification(),
          root,
          directory,
          line -> {
            log(log, line);
            var matcher = FACT.matcher(line);
            if (matcher.matches()) {
              facts.put(matcher.group(1), matcher.group(2));
            }
          });
      output.enter(Step.STORE);
      listener.progress(output.progress());
      return facts;
    } catch (IOException e) {
      throw new TemplateException(
          "Cannot build template " + recipe.name() + " in " + directory + ": " + e, e);
    } catch (UncheckedIOException e) {
      throw new TemplateException(
          "Cannot build template " + recipe.name() + " in " + directory + ": " + e.getCause(), e);
    }
  }

  private void install(
      Recipe recipe, List<AptSource> sources, Path directory, Path root, Consumer<String> lines)
      throws IOException {
    Files.createDirectories(archives.resolve("partial"));
    Path sourcesFile = directory.resolve("hopx.sources");
    Files.writeString(
        sourcesFile, sources.stream().map(AptSource::render).collect(Collectors.joining("\n")));
    // A file, because a proxy's password must not stand on a command line.
    Path settings = directory.resolve("apt.conf");
    Files.createFile(
        settings,
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    Files.write(settings, HostApt.takenOver(HostApt.dump(), etcApt));
    List<String> command =
        List.of(
            "mmdebstrap",
            "--verbose",
            "--mode=root",
            "--variant=apt",
            "--format=directory",
            "--include=" + String.join(",", recipe.packages()),
            "--dpkgopt=path-exclude=/usr/share/man/*",
            "--dpkgopt=path-exclude=/usr/share/doc/*",
            "--dpkgopt=path-include=/usr/share/doc/*/copyright",
            "--dpkgopt=path-exclude=/usr/share/locale/*",
            "--dpkgopt=path-include=/usr/share/locale/locale.alias",
            "--dpkgopt=path-exclude=/usr/share/info/*",
            "--dpkgopt=path-exclude=/usr/share/lintian/*",
            "--dpkgopt=path-exclude=/usr/lib/python3*/EXTERNALLY-MANAGED",
            // The store is synchronised once, at the end of the build.
            "--dpkgopt=force-unsafe-io",
            "--aptopt=APT::Install-Recommends \"false\"",
            "--aptopt=Acquire::Languages \"none\"",
            "--aptopt=" + settings,
            // The archives stay, in the cache that is mounted over apt's: a build that was
            // interrupted goes on where its downloads stopped.
            "--skip=essential/unlink",
            "--skip=download/empty",
            "--setup-hook=mkdir -p \"$1/var/cache/apt/archives\" && mount --bind "
                + quoted(archives)
                + " \"$1/var/cache/apt/archives\"",
            "--customize-hook=umount \"$1/var/cache/apt/archives\"",
            recipe.suite(),
            root.toString(),
            sourcesFile.toString());
    BuildFailure failure = new BuildFailure();
    int status =
        SupervisedProcess.run(
            command,
            true,
            raw -> {
              String line = CREDENTIALS.matcher(raw).replaceAll("$1***@");
              failure.accept(line);
              lines.accept(line);
            });
    Files.delete(settings);
    Files.delete(sourcesFile);
    if (status == 127) {
      throw new TemplateException("mmdebstrap is missing: apt-get install mmdebstrap");
    }
    if (status != 0) {
      throw new TemplateException(
          "Template " + recipe.name() + " cannot be built: " + failure.describe());
    }
  }

  // The guest installs from the same mirror, but never learns how the host logs in to it. Its own
  // key ring has the usual name; a key given in place is no secret and goes along.
  private static void writeSources(Path root, List<AptSource> sources) throws IOException {
    Path directory = root.resolve("etc/apt/sources.list.d");
    try (var old = Files.newDirectoryStream(directory)) {
      for (Path file : old) {
        Files.delete(file);
      }
    }
    Files.deleteIfExists(root.resolve("etc/apt/sources.list"));
    String keyRing = "/usr/share/keyrings/debian-archive-keyring.gpg";
    List<String> stanzas = new ArrayList<>();
    for (AptSource source : sources) {
      AptSource inside = source.withoutCredentials();
      boolean inline = inside.signedBy().contains("BEGIN PGP PUBLIC KEY BLOCK");
      stanzas.add((inline ? inside : inside.signedBy(keyRing)).render());
    }
    Files.writeString(directory.resolve("debian.sources"), String.join("\n", stanzas));
  }

  static void runInside(
      Recipe recipe, Script script, Path root, Path directory, Consumer<String> lines)
      throws IOException {
    Path file = directory.resolve("script");
    Files.writeString(file, script.content());
    BuildFailure failure = new BuildFailure();
    int status =
        SupervisedProcess.run(
            List.of("sh", "-c", CHROOT, "hopx-chroot", root.toString(), file.toString()),
            false,
            line -> {
              failure.accept(line);
              lines.accept(line);
            });
    Files.delete(file);
    if (status != 0) {
      throw new TemplateException(
          "Template "
              + recipe.name()
              + " cannot be built: its script "
              + script.name()
              + " ended with status "
              + status
              + ": "
              + failure.describe());
    }
  }

  private static void log(BufferedWriter log, String line) {
    try {
      log.write(line);
      log.newLine();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String quoted(Path path) {
    return "'" + path.toString().replace("'", "'\\''") + "'";
  }
}
