package dev.hopx.template;

import static java.util.Objects.requireNonNull;

import java.io.PrintStream;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Builds templates for a person who watches: a bar that moves on a terminal, a line every few
 * seconds elsewhere. Not thread-safe.
 */
public final class TemplatePreparation {
  private static final int BAR_WIDTH = 30;
  private static final long REDRAW_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final long LINE_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final TemplateStore store;
  private final PrintStream output;
  private final PrintStream errors;
  private final boolean terminal;
  private final LongSupplier nanoTime;
  private long began;
  private long lastDrawn;
  private String lastStep = "";

  /**
   * @param terminal whether {@code output} is one
   */
  public TemplatePreparation(
      TemplateStore store, PrintStream output, PrintStream errors, boolean terminal) {
    this(store, output, errors, terminal, System::nanoTime);
  }

  TemplatePreparation(
      TemplateStore store,
      PrintStream output,
      PrintStream errors,
      boolean terminal,
      LongSupplier nanoTime) {
    this.store = requireNonNull(store, "store is null");
    this.output = requireNonNull(output, "output is null");
    this.errors = requireNonNull(errors, "errors is null");
    this.terminal = terminal;
    this.nanoTime = requireNonNull(nanoTime, "nanoTime is null");
  }

  /**
   * Builds what is not built yet.
   *
   * @param names ids or names; empty means all
   * @return exit status: 0 when all are ready, 1 when one failed (which is printed)
   */
  public int prepare(List<String> names) {
    List<String> wanted =
        names.isEmpty() ? store.list().stream().map(Template::name).toList() : names;
    for (String name : wanted) {
      if (store.find(name).map(Template::isReady).orElse(false)) {
        output.println("template " + name + " is ready");
        continue;
      }
      began = nanoTime.getAsLong();
      lastStep = "";
      try {
        store.prepare(name, this::draw);
        clearLine();
        output.printf(
            Locale.ROOT,
            "template %s is ready, built in %s%n",
            name,
            elapsed(nanoTime.getAsLong()));
      } catch (TemplateException e) {
        clearLine();
        output.flush();
        errors.println(e.getMessage());
        errors.flush();
        return 1;
      }
    }
    return 0;
  }

  private void draw(BuildProgress progress) {
    long now = nanoTime.getAsLong();
    boolean newStep = !progress.step().equals(lastStep);
    if (!newStep && now - lastDrawn < (terminal ? REDRAW_NANOS : LINE_NANOS)) {
      return;
    }
    lastStep = progress.step();
    lastDrawn = now;
    if (terminal) {
      int full = progress.percent() * BAR_WIDTH / 100;
      String bar = "█".repeat(full) + "░".repeat(BAR_WIDTH - full);
      // \033[K clears what a longer line before left.
      output.print("\r" + bar + " " + text(progress, now) + "\033[K");
    } else {
      output.println(text(progress, now));
    }
    output.flush();
  }

  private String text(BuildProgress progress, long now) {
    return String.format(
        Locale.ROOT,
        "%3d %% %s: %s%s, %s",
        progress.percent(),
        progress.template(),
        progress.step(),
        progress.rate().isEmpty() ? "" : ", " + progress.rate(),
        elapsed(now));
  }

  private String elapsed(long now) {
    long seconds = TimeUnit.NANOSECONDS.toSeconds(now - began);
    return String.format(Locale.ROOT, "%d:%02d", seconds / 60, seconds % 60);
  }

  private void clearLine() {
    if (terminal) {
      output.print("\r\033[K");
    }
  }
}
