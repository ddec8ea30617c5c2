package dev.hopx.server;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import dev.hopx.server.Configuration.LogFormat;
import org.slf4j.LoggerFactory;

/** Sets the log up in code, so that no file is searched for and none can be forgotten. */
final class Logging {
  private Logging() {}

  /** Logs to standard error: ours from {@code level} on, libraries from their warnings on. */
  static void configure(LogFormat format, Level level) {
    LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
    context.reset();
    LogEncoder encoder = new LogEncoder(format);
    encoder.setContext(context);
    encoder.start();
    ConsoleAppender<ILoggingEvent> console = new ConsoleAppender<>();
    console.setContext(context);
    console.setTarget("System.err");
    console.setEncoder(encoder);
    console.start();
    Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    root.addAppender(console);
    root.setLevel(level.isGreaterOrEqual(Level.WARN) ? level : Level.WARN);
    context.getLogger("dev.hopx").setLevel(level);
  }
}
