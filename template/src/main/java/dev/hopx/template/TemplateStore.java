package dev.hopx.template;

import static java.util.Objects.requireNonNull;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.json.JsonMapper;

/**
 * The templates of this machine, in one directory that several servers and test runs may share.
 *
 * <pre>
 * sha256-…/rootfs/         the root file system, never written again
 * sha256-…/recipe.json     what it was made from
 * sha256-…/manifest.json   what the verification found in it
 * sha256-…/build.log
 * sha256-…/complete        last file made
 * sha256-….building-…/     a build that goes on, or was interrupted
 * sha256-….failed.log      of the last build, if it failed
 * archives/                downloaded Debian packages
 * build.lock               held by the one who builds
 * </pre>
 *
 * <p>A directory appears under its digest in one rename, when everything is in it and on the disk.
 * Thread-safe.
 */
public final class TemplateStore implements TemplateCatalog {
  private static final String COMPLETE = "complete";
  private static final String BUILDING = ".building-";
  private static final int MAX_SUGGESTIONS = 3;
  private static final Duration LOCK_POLL = Duration.ofMillis(500);
  private static final JsonMapper JSON = JsonMapper.shared();

  private final Path directory;
  private final List<Recipe> recipes;
  private final String architecture;
  private final RootFileSystemBuilder builder;

  TemplateStore(
      Path directory, List<Recipe> recipes, String architecture, RootFileSystemBuilder builder) {
    this.directory = requireNonNull(directory, "directory is null").toAbsolutePath();
    this.recipes = List.copyOf(recipes);
    this.architecture = requireNonNull(architecture, "architecture is null");
    this.builder = requireNonNull(builder, "builder is null");
  }

  /**
   * The store in {@code directory} with the built-in templates. Nothing is made before the first
   * build.
   */
  public static TemplateStore open(Path directory) {
    return new TemplateStore(
        directory,
        BuiltInRecipes.load(),
        hostArchitecture(),
        new TemplateBuilder(directory.resolve("archives"), Path.of("/etc/apt")));
  }

  @Override
  public List<Template> list() {
    return recipes.stream().map(this::template).toList();
  }

  @Override
  public Optional<Template> find(String idOrName) {
    return recipe(idOrName).map(this::template);
  }

  @Override
  public List<String> suggestions(String idOrName) {
    String wanted = idOrName.toLowerCase(Locale.ROOT);
    return recipes.stream()
        .map(Recipe::name)
        .filter(name -> isNear(wanted, name))
        .sorted(Comparator.comparingInt(name -> EditDistance.between(wanted, name)))
        .limit(MAX_SUGGESTIONS)
        .toList();
  }

  private static boolean isNear(String wanted, String name) {
    return !wanted.isEmpty()
        && (name.contains(wanted)
            || wanted.contains(name)
            || EditDistance.between(wanted, name) <= Math.max(2, name.length() / 3));
  }

  /**
   * Builds a template if it is not built. Blocks; waits while another process builds. A build that
   * was interrupted is started over, with the packages it had already downloaded.
   *
   * @return the ready template
   * @throws TemplateException when there is no such template or it cannot be built
   */
  public Template prepare(String idOrName, BuildProgressListener listener) {
    Recipe recipe =
        recipe(idOrName)
            .orElseThrow(
                () ->
                    new TemplateException(
                        "No template is called "
                            + idOrName
                            + "; there are: "
                            + String.join(", ", recipes.stream().map(Recipe::name).toList())));
    if (rootFileSystem(recipe).isPresent()) {
      return template(recipe);
    }
    try {
      makeDirectory();
      try (FileChannel channel =
              FileChannel.open(
                  directory.resolve("build.lock"),
                  StandardOpenOption.CREATE,
                  StandardOpenOption.WRITE);
          FileLock _ = lock(channel, recipe, listener)) {
        removeLeftovers();
        if (rootFileSystem(recipe).isEmpty()) {
          build(recipe, listener);
        }
      }
    } catch (IOException e) {
      throw new TemplateException("Template store " + directory + " cannot be written: " + e, e);
    }
    listener.progress(new BuildProgress(recipe.name(), "ready", 100, ""));
    return template(recipe);
  }

  private void build(Recipe recipe, BuildProgressListener listener) throws IOException {
    requireSpace(recipe);
    TemplateDigest digest = recipe.digest(architecture);
    Path building = Files.createTempDirectory(directory, digest.directoryName() + BUILDING);
    Path failedLog = directory.resolve(digest.directoryName() + ".failed.log");
    Instant began = Instant.now();
    boolean kept = false;
    try {
      Map<String, String> found = builder.build(recipe, building, listener);
      writeJson(building.resolve("recipe.json"), description(recipe, digest));
      Map<String, Object> manifest = new LinkedHashMap<>();
      manifest.put("digest", digest.toString());
      manifest.put("builtAt", began.toString());
      manifest.put("buildSeconds", Duration.between(began, Instant.now()).toSeconds());
      manifest.put("versions", found);
      writeJson(building.resolve("manifest.json"), manifest);
      Files.writeString(building.resolve(COMPLETE), digest + "\n");
      // Without this a power cut could leave the name and not the content.
      run("sync", "--file-system", building.toString());
      Path target = directory.resolve(digest.directoryName());
      if (Files.exists(target)) {
        remove(target);
      }
      Files.move(building, target, StandardCopyOption.ATOMIC_MOVE);
      kept = true;
      Files.deleteIfExists(failedLog);
    } catch (TemplateException e) {
      Path log = building.resolve("build.log");
      if (!Files.exists(log)) {
        throw e;
      }
      Files.move(log, failedLog, StandardCopyOption.REPLACE_EXISTING);
      throw new TemplateException(e.getMessage() + "\nThe whole log: " + failedLog, e);
    } finally {
      if (!kept) {
        remove(building);
      }
    }
  }

  private void requireSpace(Recipe recipe) throws IOException {
    long freeMib = Files.getFileStore(directory).getUsableSpace() >> 20;
    if (freeMib < recipe.buildMib()) {
      throw new TemplateException(
          "Template "
              + recipe.name()
              + " needs "
              + recipe.buildMib()
              + " MiB to be built, and "
              + directory
              + " has "
              + freeMib
              + " MiB free: make room, or choose another template-store");
    }
  }

  /** What an interrupted build left. Only for the holder of the lock. */
  private void removeLeftovers() throws IOException {
    List<Path> leftovers = new ArrayList<>();
    try (DirectoryStream<Path> stream =
        Files.newDirectoryStream(directory, "sha256-*" + BUILDING + "*")) {
      stream.forEach(leftovers::add);
    }
    for (Path leftover : leftovers) {
      remove(leftover);
    }
  }

  private static FileLock lock(FileChannel channel, Recipe recipe, BuildProgressListener listener)
      throws IOException {
    while (true) {
      try {
        FileLock lock = channel.tryLock();
        if (lock != null) {
          return lock;
        }
      } catch (OverlappingFileLockException _) {
        // Another thread of this process builds.
      }
      listener.progress(new BuildProgress(recipe.name(), "waiting for another build", 0, ""));
      try {
        Thread.sleep(LOCK_POLL);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new TemplateException("Interrupted while waiting for another build", e);
      }
    }
  }

  // Set-user-id programs of the templates must not be within reach of the host's users.
  private void makeDirectory() throws IOException {
    if (!Files.isDirectory(directory)) {
      Files.createDirectories(
          directory,
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    }
  }

  private Template template(Recipe recipe) {
    return new Template(
        recipe.id(),
        recipe.name(),
        recipe.displayName(),
        recipe.description(),
        recipe.category(),
        recipe.language(),
        recipe.features(),
        recipe.tags(),
        recipe.resources(),
        recipe.environment(),
        recipe.digest(architecture).toString(),
        rootFileSystem(recipe));
  }

  private Optional<Path> rootFileSystem(Recipe recipe) {
    Path stored = directory.resolve(recipe.digest(architecture).directoryName());
    return Files.isRegularFile(stored.resolve(COMPLETE))
        ? Optional.of(stored.resolve("rootfs"))
        : Optional.empty();
  }

  private Optional<Recipe> recipe(String idOrName) {
    return recipes.stream()
        .filter(recipe -> recipe.id().equals(idOrName) || recipe.name().equals(idOrName))
        .findFirst();
  }

  private Map<String, Object> description(Recipe recipe, TemplateDigest digest) {
    Map<String, Object> description = new LinkedHashMap<>();
    description.put("formatVersion", Recipe.FORMAT_VERSION);
    description.put("digest", digest.toString());
    description.put("architecture", architecture);
    description.put("id", recipe.id());
    description.put("name", recipe.name());
    description.put("suite", recipe.suite());
    description.put("packages", recipe.packages());
    description.put("customizations", recipe.customizations().stream().map(Script::name).toList());
    description.put("verification", recipe.verification().name());
    return description;
  }

  private static void writeJson(Path file, Map<String, Object> content) throws IOException {
    Files.writeString(
        file, JSON.writerWithDefaultPrettyPrinter().writeValueAsString(content) + "\n");
  }

  // rm removes 70,000 files in the time Java walks them, and never enters a mount left behind.
  private static void remove(Path path) {
    run("rm", "-rf", "--one-file-system", "--", path.toString());
  }

  private static void run(String... command) {
    List<String> output = new ArrayList<>();
    int status = SupervisedProcess.run(List.of(command), false, output::add);
    if (status != 0) {
      throw new TemplateException(String.join(" ", command) + " failed: " + output);
    }
  }

  private static String hostArchitecture() {
    String name = System.getProperty("os.arch");
    return switch (name) {
      case "x86_64" -> "amd64";
      case "aarch64" -> "arm64";
      default -> name;
    };
  }
}
