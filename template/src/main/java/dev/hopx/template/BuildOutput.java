package dev.hopx.template;

import static java.util.Objects.requireNonNull;

import java.util.Locale;
import java.util.function.LongSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads what mmdebstrap, apt and dpkg print and knows from it how far a build is. Not thread-safe.
 */
final class BuildOutput {
  /** The steps of a build, each with the percentages it begins and ends at. */
  enum Step {
    LISTS("fetching package lists", 0, 2),
    DOWNLOAD_ESSENTIAL("downloading essential packages", 2, 5),
    EXTRACT_ESSENTIAL("extracting essential packages", 5, 7),
    INSTALL_ESSENTIAL("installing essential packages", 7, 12),
    DOWNLOAD("downloading packages", 12, 35),
    INSTALL("installing packages", 35, 82),
    CUSTOMIZE("customizing", 82, 94),
    VERIFY("verifying", 94, 98),
    STORE("storing", 98, 100);

    private final String title;
    private final int begin;
    private final int end;

    Step(String title, int begin, int end) {
      this.title = title;
      this.begin = begin;
      this.end = end;
    }
  }

  private static final Pattern SIZE = Pattern.compile("\\[([0-9.,]+) ?([kMGT]?)B\\]$");
  private static final Pattern NEEDED =
      Pattern.compile("^Need to get ([0-9.,]+) ?([kMGT]?)B(?:/\\S+ \\S+)? of archives");
  private static final Pattern PLANNED = Pattern.compile("^\\d+ upgraded, (\\d+) newly installed");
  private static final double NANOS = 1e9;
  // A rate over less time than this says nothing.
  private static final double SHORTEST_SECONDS = 0.2;

  private final String template;
  private final LongSupplier nanoTime;
  private Step step = Step.LISTS;
  private long stepBegan;
  private int planned;
  private long neededBytes;
  private long fetchedBytes;
  private int unpacked;
  private int configured;
  private int customizations;
  private int customizationsDone;

  BuildOutput(String template, LongSupplier nanoTime) {
    this.template = requireNonNull(template, "template is null");
    this.nanoTime = requireNonNull(nanoTime, "nanoTime is null");
    this.stepBegan = nanoTime.getAsLong();
  }

  /** Takes one line of output; true if it changed what {@link #progress} tells. */
  boolean accept(String line) {
    if (line.startsWith("I: ")) {
      return acceptMessage(line);
    }
    Matcher plan = PLANNED.matcher(line);
    if (plan.find()) {
      planned = Integer.parseInt(plan.group(1));
      return false;
    }
    Matcher needed = NEEDED.matcher(line);
    if (needed.find()) {
      neededBytes = bytes(needed.group(1), needed.group(2));
      fetchedBytes = 0;
      return true;
    }
    if (line.startsWith("Get:")) {
      Matcher size = SIZE.matcher(line);
      if (size.find()) {
        fetchedBytes += bytes(size.group(1), size.group(2));
      }
      return true;
    }
    if (line.startsWith("Unpacking ")) {
      // apt tells neither the end of the download nor the begin of the installation.
      if (step == Step.DOWNLOAD) {
        enter(Step.INSTALL);
      }
      unpacked++;
      return true;
    }
    if (line.startsWith("Setting up ")) {
      configured++;
      return true;
    }
    return false;
  }

  private boolean acceptMessage(String line) {
    if (line.startsWith("I: running apt-get update")) {
      enter(Step.LISTS);
    } else if (line.startsWith("I: downloading packages with apt")) {
      enter(Step.DOWNLOAD_ESSENTIAL);
    } else if (line.startsWith("I: extracting archives")) {
      enter(Step.EXTRACT_ESSENTIAL);
    } else if (line.startsWith("I: installing essential packages")) {
      enter(Step.INSTALL_ESSENTIAL);
    } else if (line.startsWith("I: installing remaining packages")) {
      enter(Step.DOWNLOAD);
    } else {
      return false;
    }
    return true;
  }

  void customizing(int scripts) {
    customizations = scripts;
    customizationsDone = 0;
    enter(Step.CUSTOMIZE);
  }

  void customized() {
    customizationsDone++;
  }

  void enter(Step next) {
    // A second "apt-get update" or another plan must not turn the bar back.
    if (next.begin < step.begin) {
      return;
    }
    step = next;
    stepBegan = nanoTime.getAsLong();
    unpacked = 0;
    configured = 0;
    fetchedBytes = 0;
    neededBytes = 0;
  }

  BuildProgress progress() {
    int percent = step.begin + (int) ((step.end - step.begin) * fractionOfStep());
    return new BuildProgress(template, step.title, Math.min(percent, step.end), rate());
  }

  private double fractionOfStep() {
    return switch (step) {
      case DOWNLOAD_ESSENTIAL, DOWNLOAD -> fraction(fetchedBytes, neededBytes);
      case INSTALL_ESSENTIAL, INSTALL -> fraction((long) unpacked + configured, 2L * planned);
      case CUSTOMIZE -> fraction(customizationsDone, customizations);
      case LISTS, EXTRACT_ESSENTIAL, VERIFY, STORE -> 0;
    };
  }

  private static double fraction(long done, long all) {
    return all <= 0 ? 0 : Math.min(1, (double) done / all);
  }

  private String rate() {
    double seconds = (nanoTime.getAsLong() - stepBegan) / NANOS;
    if (seconds < SHORTEST_SECONDS) {
      return "";
    }
    return switch (step) {
      case LISTS, DOWNLOAD_ESSENTIAL, DOWNLOAD ->
          fetchedBytes == 0
              ? ""
              : String.format(Locale.ROOT, "%.1f MB/s", fetchedBytes / 1e6 / seconds);
      case INSTALL_ESSENTIAL, INSTALL ->
          // A package counts half when unpacked and half when set up.
          String.format(Locale.ROOT, "%.1f packages/s", (unpacked + configured) / 2.0 / seconds);
      case EXTRACT_ESSENTIAL, CUSTOMIZE, VERIFY, STORE -> "";
    };
  }

  // apt counts in powers of 1000 and groups digits by commas in some locales.
  private static long bytes(String number, String unit) {
    double factor =
        switch (unit) {
          case "k" -> 1e3;
          case "M" -> 1e6;
          case "G" -> 1e9;
          case "T" -> 1e12;
          default -> 1;
        };
    return (long) (Double.parseDouble(number.replace(",", "")) * factor);
  }
}
