package dev.hopx.control;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jdbi.v3.core.Handle;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.sqlite.SQLiteDataSource;

final class StoreTest {
  @TempDir private Path directory;

  @Test
  void filesAreForTheServersUserOnly() throws Exception {
    try (Store store = open()) {
      store.write(handle -> insert(handle, 5));
      try (var files = Files.list(directory)) {
        assertThat(files)
            .hasSizeGreaterThanOrEqualTo(2)
            .allSatisfy(
                file ->
                    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                        .isEqualTo("rw-------"));
      }
    }
  }

  @Test
  void writesAreSyncedAndLogged() {
    try (Store store = open()) {
      assertThat(pragma(store, "journal_mode")).isEqualTo("wal");
      assertThat(pragma(store, "synchronous")).isEqualTo("2");
      assertThat(pragma(store, "foreign_keys")).isEqualTo("1");
      assertThat(pragma(store, "busy_timeout"))
          .isEqualTo(Integer.toString(Store.BUSY_TIMEOUT_MILLIS));
    }
  }

  @Test
  void readersCannotWrite() {
    try (Store store = open()) {
      assertThatThrownBy(() -> store.read(handle -> insert(handle, 5)))
          .hasMessageContaining("readonly");
    }
  }

  @Test
  void keepsWhatWasWrittenAndMigratesOnce() {
    try (Store store = open()) {
      store.write(handle -> insert(handle, 7));
    }
    try (Store store = open()) {
      assertThat(ids(store)).containsExactly(7L);
    }
  }

  @Test
  void asksFlywayOnlyForADatabaseOfOtherMigrations() throws Exception {
    SQLiteDataSource database = new SQLiteDataSource();
    database.setUrl("jdbc:sqlite:" + directory.resolve("hopx.db"));
    assertThat(Migrations.apply(database)).isTrue();
    assertThat(Migrations.apply(database)).isFalse();
    try (var connection = database.getConnection();
        var statement = connection.createStatement()) {
      statement.execute("PRAGMA user_version = 1");
    }
    assertThat(Migrations.apply(database)).isTrue();
    assertThat(Migrations.apply(database)).isFalse();
  }

  @Test
  void everyMigrationIsListed() throws Exception {
    Path folder =
        Path.of(
                requireNonNull(
                        Migrations.class
                            .getClassLoader()
                            .getResource(Migrations.FOLDER + "/" + Migrations.FILES.getFirst()))
                    .toURI())
            .getParent();
    try (var files = Files.list(requireNonNull(folder))) {
      assertThat(files.map(file -> file.getFileName().toString()).sorted().toList())
          .isEqualTo(Migrations.FILES);
    }
  }

  @Test
  void aFailingUnitTakesNoOtherWithIt() throws Exception {
    try (Store store = open();
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<Integer>> results = new ArrayList<>();
      for (int i = 1; i <= 200; i++) {
        int id = i;
        results.add(
            threads.submit(
                () ->
                    store.write(
                        handle -> {
                          int inserted = insert(handle, id);
                          if (id % 3 == 0) {
                            throw new IllegalArgumentException("no " + id);
                          }
                          return inserted;
                        })));
      }
      for (int i = 1; i <= 200; i++) {
        Future<Integer> result = results.get(i - 1);
        if (i % 3 == 0) {
          String message = "no " + i;
          assertThatThrownBy(result::get).rootCause().hasMessage(message);
        } else {
          assertThat(result.get()).isEqualTo(1);
        }
      }
      assertThat(ids(store)).hasSize(134).noneMatch(id -> id % 3 == 0);
    }
  }

  @Test
  void aViolatedConstraintIsTheCallersFailureOnly() {
    try (Store store = open()) {
      store.write(handle -> insert(handle, 1));
      assertThatThrownBy(() -> store.write(handle -> insert(handle, 1)))
          .hasMessageContaining("constraint");
      store.write(handle -> insert(handle, 2));
      assertThat(ids(store)).containsExactly(1L, 2L);
    }
  }

  @Test
  void aClosedStoreFailsAtOnce() {
    Store store = open();
    store.close();
    assertThatThrownBy(() -> store.write(handle -> insert(handle, 1)))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("closed");
  }

  private Store open() {
    return Store.open(directory.resolve("hopx.db"));
  }

  private static int insert(Handle handle, long id) {
    return handle
        .createUpdate("INSERT INTO organizations (id, name, created_at) VALUES (:id, 'x', 0)")
        .bind("id", id)
        .execute();
  }

  private static List<Long> ids(Store store) {
    return store.read(
        handle ->
            handle
                .createQuery("SELECT id FROM organizations ORDER BY id")
                .mapTo(Long.class)
                .list());
  }

  private static String pragma(Store store, String name) {
    return store.write(handle -> handle.createQuery("PRAGMA " + name).mapTo(String.class).one());
  }
}
