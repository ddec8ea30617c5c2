package dev.hopx.server;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Holds the table of modules: who may use whom. */
final class ArchitectureTest {
  /** Each module and those it may use; {@code server} may use all. */
  private static final Map<String, List<String>> MAY_USE =
      new TreeMap<>(
          Map.of(
              "guest", List.of(),
              "api", List.of(),
              "http", List.of("api"),
              "channel", List.of(),
              "node", List.of("channel", "guest"),
              "template", List.of("api", "node"),
              "agent", List.of("api", "http", "channel", "guest"),
              "control", List.of("api", "http", "node", "template")));

  /** What only one module may touch, so that it can be exchanged there. */
  private static final Map<String, String> ONLY_IN =
      Map.of(
          "org.eclipse.jetty..", "http",
          "org.jdbi..", "control",
          "org.flywaydb..", "control",
          "com.nimbusds..", "control",
          "sun..", "channel");

  private final JavaClasses classes =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages("dev.hopx");

  @Test
  void allModulesAreLookedAt() {
    for (String module : MAY_USE.keySet()) {
      assertThat(classes.stream().map(found -> found.getPackageName()))
          .as(module)
          .contains("dev.hopx." + module);
    }
  }

  @Test
  void modulesUseOnlyWhatTheyMay() {
    for (String module : MAY_USE.keySet()) {
      List<String> allowed = MAY_USE.getOrDefault(module, List.of());
      String[] forbidden =
          MAY_USE.keySet().stream()
              .filter(other -> !other.equals(module) && !allowed.contains(other))
              .map(other -> "dev.hopx." + other + "..")
              .toArray(String[]::new);
      noClasses()
          .that()
          .resideInAPackage("dev.hopx." + module + "..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(forbidden)
          .check(classes);
      noClasses()
          .that()
          .resideInAPackage("dev.hopx." + module + "..")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("dev.hopx.server..")
          .check(classes);
    }
  }

  @Test
  void librariesStayWhereTheyBelong() {
    ONLY_IN.forEach(
        (library, module) ->
            noClasses()
                .that()
                .resideOutsideOfPackage("dev.hopx." + module)
                .should()
                .dependOnClassesThat()
                .resideInAPackage(library)
                .check(classes));
  }

  @Test
  void packagesAreFlatAndFreeOfCycles() {
    assertThat(classes.stream().map(found -> found.getPackageName()).distinct())
        .allMatch(name -> name.matches("dev\\.hopx\\.[a-z]+"));
    SlicesRuleDefinition.slices()
        .matching("dev.hopx.(*)..")
        .should()
        .beFreeOfCycles()
        .check(classes);
  }
}
