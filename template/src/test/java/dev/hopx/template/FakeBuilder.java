package dev.hopx.template;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** Makes a root file system of one file at once, or fails. */
final class FakeBuilder implements RootFileSystemBuilder {
  final AtomicInteger builds = new AtomicInteger();
  private volatile String failure = "";

  void failWith(String message) {
    failure = message;
  }

  @Override
  public Map<String, String> build(Recipe recipe, Path directory, BuildProgressListener listener) {
    builds.incrementAndGet();
    try {
      Files.writeString(directory.resolve("build.log"), "built by " + builds.get() + "\n");
      Files.createDirectory(directory.resolve("rootfs"));
      Files.writeString(directory.resolve("rootfs/file"), recipe.name());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    listener.progress(
        new BuildProgress(recipe.name(), "installing packages", 50, "7.0 packages/s"));
    if (!failure.isEmpty()) {
      throw new TemplateException(failure);
    }
    return Map.of("tool", "1.2");
  }
}
