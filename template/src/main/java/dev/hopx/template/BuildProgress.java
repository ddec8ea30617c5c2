package dev.hopx.template;

/**
 * Where a build stands.
 *
 * @param template its name
 * @param step e.g. "downloading packages"
 * @param percent of the whole build, 0 to 100, never shrinks within a build
 * @param rate of the current step, e.g. "12.3 MB/s" or "31 packages/s"; empty if it has none
 */
public record BuildProgress(String template, String step, int percent, String rate) {
  public BuildProgress {
    if (percent < 0 || percent > 100) {
      throw new IllegalArgumentException("percent must be 0 to 100: " + percent);
    }
  }
}
