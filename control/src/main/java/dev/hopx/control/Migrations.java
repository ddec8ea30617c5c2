package dev.hopx.control;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.zip.CRC32;
import javax.sql.DataSource;
import org.flywaydb.core.Flyway;

/**
 * Brings a database up to date with Flyway. That costs half a second of processor time even when
 * there is nothing to do, a good part of the server's start; so the database notes which migrations
 * made it (as SQLite's {@code user_version}), and Flyway is asked only where they are not exactly
 * these.
 */
final class Migrations {
  static final String FOLDER = "db/migration";

  /** All of them, in their order; a test compares the list with the folder. */
  static final List<String> FILES =
      List.of("V1__organizations_keys_sandboxes.sql", "V2__halted_clocks.sql");

  private Migrations() {}

  /** Returns whether Flyway was asked. */
  static boolean apply(DataSource database) {
    int fingerprint = fingerprint();
    if (noted(database) == fingerprint) {
      return false;
    }
    Flyway.configure(Migrations.class.getClassLoader())
        .dataSource(database)
        .locations("classpath:" + FOLDER)
        .load()
        .migrate();
    note(database, fingerprint);
    return true;
  }

  /** Never 0, which is what a new database says. */
  private static int fingerprint() {
    CRC32 checksum = new CRC32();
    for (String file : FILES) {
      checksum.update(file.getBytes(StandardCharsets.UTF_8));
      checksum.update(content(file));
    }
    return (int) checksum.getValue() | 1;
  }

  private static byte[] content(String file) {
    try (InputStream content =
        Migrations.class.getClassLoader().getResourceAsStream(FOLDER + "/" + file)) {
      if (content == null) {
        throw new IllegalStateException("The program is incomplete: " + file + " is missing");
      }
      return content.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static int noted(DataSource database) {
    try (Connection connection = database.getConnection();
        Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery("PRAGMA user_version")) {
      return row.next() ? row.getInt(1) : 0;
    } catch (SQLException e) {
      throw new IllegalStateException("The database cannot be read: " + e.getMessage(), e);
    }
  }

  private static void note(DataSource database, int fingerprint) {
    try (Connection connection = database.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute("PRAGMA user_version = " + fingerprint);
    } catch (SQLException e) {
      throw new IllegalStateException("The database cannot be written: " + e.getMessage(), e);
    }
  }
}
