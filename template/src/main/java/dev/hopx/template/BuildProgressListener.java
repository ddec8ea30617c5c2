package dev.hopx.template;

/** Told how a build goes on, often (once a package), by the thread that builds. */
@FunctionalInterface
public interface BuildProgressListener {
  void progress(BuildProgress progress);
}
