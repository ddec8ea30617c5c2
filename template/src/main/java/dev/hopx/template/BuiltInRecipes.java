package dev.hopx.template;

import dev.hopx.node.Resources;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The recipes every server has, from this module's resources. */
final class BuiltInRecipes {
  private static final List<String> NAMES = List.of("code-interpreter", "base");
  private static final JsonMapper JSON = JsonMapper.shared();

  private BuiltInRecipes() {}

  static List<Recipe> load() {
    return NAMES.stream().map(BuiltInRecipes::load).toList();
  }

  private static Recipe load(String name) {
    JsonNode json = JSON.readTree(resource(name + ".json"));
    JsonNode resources = json.required("resources");
    List<Script> customizations = new ArrayList<>();
    for (String script : strings(json, "customizations")) {
      customizations.add(new Script(script, resource(script)));
    }
    Map<String, String> environment = new LinkedHashMap<>();
    for (Map.Entry<String, JsonNode> entry : json.required("environment").properties()) {
      environment.put(entry.getKey(), entry.getValue().stringValue());
    }
    String verification = json.required("verification").stringValue();
    return new Recipe(
        json.required("id").stringValue(),
        json.required("name").stringValue(),
        json.required("displayName").stringValue(),
        json.required("description").stringValue(),
        json.required("category").stringValue(),
        Optional.of(json.required("language").stringValue()),
        strings(json, "features"),
        strings(json, "tags"),
        new Resources(
            resources.required("vcpu").intValue(),
            resources.required("memoryMib").intValue(),
            resources.required("diskMib").intValue(),
            Resources.DEFAULT_PROCESSES),
        environment,
        json.required("suite").stringValue(),
        strings(json, "packages"),
        customizations,
        new Script(verification, resource(verification)),
        json.required("buildMib").intValue());
  }

  private static List<String> strings(JsonNode json, String field) {
    List<String> strings = new ArrayList<>();
    for (JsonNode element : json.required(field)) {
      strings.add(element.stringValue());
    }
    return strings;
  }

  private static String resource(String name) {
    try (InputStream input = BuiltInRecipes.class.getResourceAsStream(name)) {
      if (input == null) {
        throw new IllegalStateException("Resource is missing from the build: " + name);
      }
      return new String(input.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot read resource " + name, e);
    }
  }
}
