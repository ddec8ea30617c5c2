package dev.hopx.bench;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import tools.jackson.databind.JsonNode;

/**
 * Measures a running server on this machine and two references in the same run. Reads {@code
 * HOPX_BASE_URL}, {@code HOPX_API_KEY}, {@code HOPX_DATA_DIR}, {@code HOPX_INSTANCE} and {@code
 * HOPX_BENCH_ROOTFS} (root file system of the template) from the environment; the first argument is
 * the number of rounds (default 30).
 */
public final class Main {
  private static final String TEMPLATE = "base";
  private static final int PARALLEL = 4;

  /** Runs before those that are measured. */
  private static final int WARM_UP = 20;

  private Main() {}

  public static void main(String[] arguments) throws Exception {
    int rounds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 30;
    Service service = new Service(variable("HOPX_BASE_URL"), variable("HOPX_API_KEY"));
    Path sandboxes = Path.of(variable("HOPX_DATA_DIR"), "sandboxes");
    Path rootFileSystem = Path.of(variable("HOPX_BENCH_ROOTFS"));
    String instance = variable("HOPX_INSTANCE");
    Report report = new Report();

    warmUp(service);
    Samples fork = References.forkAndExec(rounds * 5);
    report.add("reference: fork+exec /bin/true", fork, "ms");

    Service.Box box = service.create(TEMPLATE);
    try {
      Samples crun = References.crunRun(rounds, sandboxes.resolve(box.id()), rootFileSystem);
      report.add("reference: crun run, same bundle", crun, "ms");
      Samples create = createAndDelete(service, rounds, report);
      report.ratio("create / crun run", create, crun);
      Samples command = time(rounds * 5, () -> service.call(box, "/commands/run", commandTrue()));
      report.add("/commands/run true", command, "ms");
      report.ratio("/commands/run true / fork+exec", command, fork);
    } finally {
      service.delete(box);
    }
    execute(service, rounds, report);
    throughput(service, rounds, report);
    memory(service, instance, report);
    System.out.println(report.text());
  }

  private static String variable(String name) {
    String value = System.getenv(name);
    if (value == null || value.isEmpty()) {
      System.err.println("bench: " + name + " is not set; ./hopx bench sets it");
      System.exit(2);
    }
    return String.valueOf(value);
  }

  private static Map<String, Object> commandTrue() {
    return Map.of("command", "true", "args", List.of());
  }

  private static void warmUp(Service service) {
    for (int round = 0; round < 10; round++) {
      Service.Box box = service.create(TEMPLATE);
      for (int call = 0; call < 20; call++) {
        service.call(box, "/commands/run", commandTrue());
      }
      service.delete(box);
    }
  }

  private static Samples createAndDelete(Service service, int rounds, Report report) {
    Samples create = new Samples();
    Samples first = new Samples();
    Samples delete = new Samples();
    List<Service.Box> boxes = new ArrayList<>();
    try {
      for (int round = 0; round < rounds; round++) {
        long start = System.nanoTime();
        Service.Box box = service.create(TEMPLATE);
        create.add(millisecondsSince(start));
        boxes.add(box);
        service.call(box, "/commands/run", commandTrue());
        first.add(millisecondsSince(start));
      }
    } finally {
      // Apart from the creations: a deletion goes on behind its answer and would be in their time.
      for (Service.Box box : boxes) {
        long start = System.nanoTime();
        service.delete(box);
        delete.add(millisecondsSince(start));
      }
    }
    report.add("create (no pool)", create, "ms");
    report.add("create until the first command's result", first, "ms");
    report.add("delete", delete, "ms");
    return create;
  }

  private static void execute(Service service, int rounds, Report report) {
    Service.Box box = service.create("code-interpreter");
    try {
      warmAndCold(service, box, rounds, report, "python", "print(1)");
      warmAndCold(service, box, rounds, report, "javascript", "console.log(1)");
    } finally {
      service.delete(box);
    }
  }

  /** The first run starts the interpreter. */
  private static void warmAndCold(
      Service service, Service.Box box, int rounds, Report report, String language, String code) {
    Map<String, Object> print = Map.of("code", code, "language", language);
    Supplier<JsonNode> run = () -> service.call(box, "/execute", print);
    report.add("/execute, " + language + ", first run", time(1, run), "ms");
    time(WARM_UP, run);
    report.add("/execute " + code + ", " + language, time(rounds * 5, run), "ms");
  }

  private static void throughput(Service service, int rounds, Report report) throws Exception {
    long start = System.nanoTime();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<?>> tasks = new ArrayList<>();
      for (int thread = 0; thread < PARALLEL; thread++) {
        tasks.add(
            threads.submit(
                () -> {
                  for (int round = 0; round < rounds; round++) {
                    service.delete(service.create(TEMPLATE));
                  }
                }));
      }
      for (Future<?> task : tasks) {
        task.get();
      }
    }
    Samples perSecond = new Samples();
    perSecond.add(PARALLEL * rounds * 1000.0 / millisecondsSince(start));
    report.add("create+delete, " + PARALLEL + " at a time", perSecond, "per s");
  }

  private static void memory(Service service, String instance, Report report) {
    Samples idle = new Samples();
    List<Service.Box> boxes = new ArrayList<>();
    try {
      for (int index = 0; index < 10; index++) {
        boxes.add(service.create(TEMPLATE));
      }
      for (Service.Box box : boxes) {
        idle.add(Memory.idleMib(instance, box.id()));
      }
    } finally {
      boxes.forEach(service::delete);
    }
    report.add("idle sandbox: PSS of init + kernel memory", idle, "MiB");
  }

  private static Samples time(int rounds, Supplier<JsonNode> call) {
    Samples samples = new Samples();
    for (int round = 0; round < rounds; round++) {
      long start = System.nanoTime();
      JsonNode answer = call.get();
      samples.add(millisecondsSince(start));
      if (!answer.path("success").asBoolean(false)) {
        throw new IllegalStateException("A measured call failed: " + answer);
      }
    }
    return samples;
  }

  private static double millisecondsSince(long start) {
    return (System.nanoTime() - start) / 1e6;
  }
}
