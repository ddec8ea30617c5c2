package dev.hopx.control;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.function.Function;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jdbi.v3.core.JdbiException;
import org.jspecify.annotations.Nullable;
import org.sqlite.SQLiteConfig;
import org.sqlite.SQLiteDataSource;
import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;

/**
 * The database. Owns and closes its connections: a few for reading and exactly one for writing,
 * because SQLite has one writer and waiting for it in Java is fairer and cheaper than its busy
 * handler. Every commit is on the disk when {@link #write} returns.
 */
public final class Store implements AutoCloseable {
  static final int READERS = 4;

  /** Detail of the failure of a write that no other work would have survived either. */
  static final String UNWRITABLE = "STORE_UNWRITABLE";

  /** For programs beside the server that look into the file. */
  static final int BUSY_TIMEOUT_MILLIS = 10_000;

  private final HikariDataSource readers;
  private final HikariDataSource writer;
  private final Jdbi reading;
  private final GroupCommit writing;

  private Store(HikariDataSource readers, HikariDataSource writer) {
    this.readers = readers;
    this.writer = writer;
    this.reading = Jdbi.create(readers);
    this.writing = new GroupCommit(Jdbi.create(writer));
  }

  /**
   * Opens the SQLite file, makes it (0600) where there is none, and brings it up to date.
   *
   * @throws UncheckedIOException when the file cannot be made
   */
  public static Store open(Path file) {
    createPrivately(file);
    HikariDataSource writer = pool("writer", dataSource(file, false), 1, false);
    try {
      Migrations.apply(writer);
      return new Store(pool("reader", dataSource(file, true), READERS, true), writer);
    } catch (RuntimeException e) {
      writer.close();
      throw e;
    }
  }

  /** Runs a query outside of any transaction. */
  <T> T read(Function<Handle, T> query) {
    return reading.withHandle(query::apply);
  }

  /**
   * Runs one unit of work that is kept as a whole or, when it throws, not at all. It must neither
   * block on anything else nor call the store again.
   *
   * @throws ApiException {@code SERVICE_UNAVAILABLE} when the disk is full or broken
   */
  <T> T write(Function<Handle, T> work) {
    try {
      return writing.run(work);
    } catch (JdbiException e) {
      throw isUnwritable(e) ? unwritable(e) : e;
    }
  }

  /** True when the file cannot be written whatever the work: full disk, broken disk, read-only. */
  private static boolean isUnwritable(Throwable failure) {
    for (@Nullable Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof SQLiteException sqlite) {
        // Extended codes have the plain one in their lowest byte.
        int code = sqlite.getResultCode().code & 0xFF;
        return code == SQLiteErrorCode.SQLITE_FULL.code
            || code == SQLiteErrorCode.SQLITE_IOERR.code
            || code == SQLiteErrorCode.SQLITE_READONLY.code;
      }
    }
    return false;
  }

  private static ApiException unwritable(JdbiException cause) {
    return new ApiException(
        ErrorCode.SERVICE_UNAVAILABLE,
        "The server cannot write its database; is its disk full? Nothing was changed",
        Map.of("reason", UNWRITABLE),
        cause);
  }

  @Override
  public void close() {
    writing.close();
    readers.close();
    writer.close();
  }

  private static void createPrivately(Path file) {
    try {
      if (!Files.exists(file)) {
        Files.createFile(
            file,
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
      }
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot create the database " + file, e);
    }
  }

  private static SQLiteDataSource dataSource(Path file, boolean readOnly) {
    SQLiteConfig config = new SQLiteConfig();
    config.setJournalMode(SQLiteConfig.JournalMode.WAL);
    config.setSynchronous(SQLiteConfig.SynchronousMode.FULL);
    config.setBusyTimeout(BUSY_TIMEOUT_MILLIS);
    config.enforceForeignKeys(true);
    config.setReadOnly(readOnly);
    if (!readOnly) {
      config.setTransactionMode(SQLiteConfig.TransactionMode.IMMEDIATE);
    }
    SQLiteDataSource source = new SQLiteDataSource(config);
    source.setUrl("jdbc:sqlite:" + file);
    return source;
  }

  private static HikariDataSource pool(
      String name, SQLiteDataSource source, int size, boolean readOnly) {
    HikariConfig config = new HikariConfig();
    config.setPoolName(name);
    config.setDataSource(source);
    config.setMaximumPoolSize(size);
    config.setMinimumIdle(1);
    config.setReadOnly(readOnly);
    // The file does not drop connections, so none is ever replaced for its age.
    config.setMaxLifetime(0);
    return new HikariDataSource(config);
  }
}
