package dev.hopx.server;

import dev.hopx.node.NodeException;
import dev.hopx.template.TemplatePreparation;
import dev.hopx.template.TemplateStore;
import java.io.Console;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParseResult;

/** The program: {@code serve} and {@code templates prepare}. */
public final class Main {
  /** Exit status for settings and arguments that are not usable. */
  static final int USAGE = 2;

  /** Exit status when the work itself failed. */
  static final int FAILED = 1;

  private final PrintStream output;
  private final PrintStream errors;
  private final Map<String, String> environment;

  Main(PrintStream output, PrintStream errors, Map<String, String> environment) {
    this.output = output;
    this.errors = errors;
    this.environment = Map.copyOf(environment);
  }

  public static void main(String[] arguments) {
    System.exit(new Main(System.out, System.err, System.getenv()).run(arguments));
  }

  /** Runs a command and gives its exit status. */
  int run(String... arguments) {
    CommandLine commands = new CommandLine(commands());
    commands.setOut(new PrintWriter(output, true, StandardCharsets.UTF_8));
    commands.setErr(new PrintWriter(errors, true, StandardCharsets.UTF_8));
    commands.setExecutionStrategy(this::executeSafely);
    return commands.execute(arguments);
  }

  private static CommandSpec commands() {
    CommandSpec templates =
        command("templates", "Manage the templates of this machine.")
            .addSubcommand(
                "prepare",
                command("prepare", "Build templates that are not built yet; all without a name.")
                    .addPositional(
                        PositionalParamSpec.builder()
                            .paramLabel("NAME")
                            .arity("0..*")
                            .type(List.class)
                            .auxiliaryTypes(String.class)
                            .description("id or name of a template")
                            .build()));
    for (CommandLine prepare : templates.subcommands().values()) {
      addSettings(prepare.getCommandSpec());
    }
    return command("hopx-server", "The hopx server.")
        .addSubcommand("serve", addSettings(command("serve", "Run the server until a signal.")))
        .addSubcommand("templates", templates);
  }

  private static CommandSpec command(String name, String description) {
    CommandSpec command = CommandSpec.create().name(name);
    command.usageMessage().description(description);
    command.version(Version.current());
    return command.mixinStandardHelpOptions(true);
  }

  private static CommandSpec addSettings(CommandSpec command) {
    for (ConfigurationKey key : ConfigurationKey.values()) {
      command.addOption(
          OptionSpec.builder(key.flag())
              .paramLabel(key.placeholder())
              .type(String.class)
              .description(
                  key.defaultValue().isEmpty()
                      ? key.description()
                      : key.description() + " (default " + key.defaultValue() + ")")
              .build());
    }
    return command;
  }

  private int executeSafely(ParseResult result) {
    try {
      return execute(result);
    } catch (ConfigurationException unusable) {
      errors.println("hopx: " + unusable.getMessage());
      return USAGE;
    } catch (NodeException impossible) {
      // Its message says what this host lacks; a trace would only hide that.
      errors.println("hopx: " + impossible.getMessage());
      return FAILED;
    } catch (RuntimeException failure) {
      LoggerFactory.getLogger(Main.class).error("hopx failed", failure);
      errors.println("hopx: " + failure.getMessage());
      return FAILED;
    }
  }

  private int execute(ParseResult result) {
    @Nullable Integer help = CommandLine.executeHelpRequest(result);
    if (help != null) {
      return help;
    }
    ParseResult command = result;
    while (command.hasSubcommand()) {
      command = command.subcommand();
    }
    return switch (command.commandSpec().name()) {
      case "serve" -> serve(load(command));
      case "prepare" -> prepare(load(command), command.matchedPositionalValue(0, List.of()));
      default -> {
        command.commandSpec().commandLine().usage(errors);
        yield USAGE;
      }
    };
  }

  private Configuration load(ParseResult command) {
    Map<ConfigurationKey, String> flags = new EnumMap<>(ConfigurationKey.class);
    for (ConfigurationKey key : ConfigurationKey.values()) {
      if (command.hasMatchedOption(key.flag())) {
        flags.put(key, command.matchedOptionValue(key.flag(), ""));
      }
    }
    ConfigurationLoader loader = new ConfigurationLoader(flags, environment);
    Configuration configuration = loader.load();
    Logging.configure(configuration.logFormat(), configuration.logLevel());
    loader.warnings().forEach(LoggerFactory.getLogger(Main.class)::warn);
    return configuration;
  }

  private int serve(Configuration configuration) {
    HopxServer server = HopxServer.start(configuration);
    CountDownLatch stopped = new CountDownLatch(1);
    Runtime.getRuntime()
        .addShutdownHook(
            Thread.ofPlatform()
                .name("shutdown")
                .unstarted(
                    () -> {
                      LoggerFactory.getLogger(Main.class).info("Stopping; sandboxes go on");
                      server.close();
                      stopped.countDown();
                    }));
    output.println("hopx is ready: " + server.url());
    output.flush();
    try {
      stopped.await();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    return 0;
  }

  private int prepare(Configuration configuration, List<String> names) {
    return new TemplatePreparation(
            TemplateStore.open(configuration.templateStore()),
            output,
            errors,
            Optional.ofNullable(System.console()).map(Console::isTerminal).orElse(false))
        .prepare(names);
  }
}
