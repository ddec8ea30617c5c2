package dev.hopx.template;

import java.nio.file.Path;
import java.util.Map;

/** Makes the root file system of a recipe. */
interface RootFileSystemBuilder {
  /**
   * Builds into {@code directory}, which exists and is empty: {@code rootfs/}, {@code build.log}.
   *
   * @return what the verification found, name to version
   * @throws TemplateException when it cannot be built; {@code directory} is then of no use
   */
  Map<String, String> build(Recipe recipe, Path directory, BuildProgressListener listener);
}
