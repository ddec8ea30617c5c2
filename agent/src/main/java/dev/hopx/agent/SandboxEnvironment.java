package dev.hopx.agent;

import dev.hopx.api.Variables;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The variables of a sandbox in their layers: platform, then system (with the template's own), then
 * the sandbox's custom ones, which start as those given at creation, then those of one run. Each
 * overrides the ones before it (ENV-12). Thread-safe.
 */
final class SandboxEnvironment {
  private static final String HOME = "HOME";

  private static final Map<String, String> STANDARD =
      Map.of(
          "PATH",
          "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
          HOME,
          "/root",
          "USER",
          "root",
          "LOGNAME",
          "root",
          "SHELL",
          "/bin/bash",
          "LANG",
          "C.UTF-8");

  private final Map<String, String> platform;
  private final Map<String, String> system;
  private final EnvironmentFile file;
  private final ReentrantLock lock = new ReentrantLock();
  private Map<String, String> custom;

  private SandboxEnvironment(
      Map<String, String> platform,
      Map<String, String> template,
      EnvironmentFile file,
      Map<String, String> custom) {
    this.platform = Map.copyOf(platform);
    Map<String, String> merged = new LinkedHashMap<>(STANDARD);
    merged.putAll(template);
    this.system = Collections.unmodifiableMap(merged);
    this.file = file;
    this.custom = Map.copyOf(custom);
  }

  static SandboxEnvironment load(AgentSandbox sandbox) {
    EnvironmentFile file = new EnvironmentFile(sandbox.stateDirectory());
    return new SandboxEnvironment(
        sandbox.platformEnvironment(),
        sandbox.templateEnvironment(),
        file,
        file.load().orElseGet(sandbox::creationEnvironment));
  }

  /** The home directory of the system, which is a root of the file API. */
  String home() {
    String home = system.getOrDefault(HOME, "");
    return home.startsWith("/") ? home : "/root";
  }

  /** The system variables a stranger may see: those of the platform's own making. */
  static Map<String, String> standard() {
    return new TreeMap<>(STANDARD);
  }

  /** The complete environment of one run. */
  Map<String, String> forRun(Map<String, String> ofRun) {
    Map<String, String> all = new LinkedHashMap<>(platform);
    all.putAll(system);
    all.putAll(custom());
    all.putAll(ofRun);
    Variables.checkSize("env", all, Variables.MAX_TOTAL);
    return all;
  }

  /** What {@code /env} shows: everything but the platform's, sorted. */
  Map<String, String> shown(boolean reveal) {
    Map<String, String> all = new TreeMap<>(system);
    all.putAll(custom());
    if (!reveal) {
      all.replaceAll(
          (name, value) -> EnvironmentRules.isSecret(name) ? EnvironmentRules.MASK : value);
    }
    return all;
  }

  /** Replaces the custom variables. */
  void replace(Map<String, String> variables) {
    change(variables, false);
  }

  /** Adds to the custom variables. */
  void merge(Map<String, String> variables) {
    change(variables, true);
  }

  void clear() {
    change(Map.of(), false);
  }

  private Map<String, String> custom() {
    lock.lock();
    try {
      return custom;
    } finally {
      lock.unlock();
    }
  }

  private void change(Map<String, String> variables, boolean keepOthers) {
    lock.lock();
    try {
      Map<String, String> next = new LinkedHashMap<>(keepOthers ? custom : Map.of());
      variables.forEach((name, value) -> put(next, name, value));
      Map<String, String> all = new LinkedHashMap<>(platform);
      all.putAll(system);
      all.putAll(next);
      Variables.checkSize("env", all, Variables.MAX_TOTAL);
      file.save(next);
      custom = Map.copyOf(next);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Clients delete a variable by writing back all the others, system variables and masked values
   * among them: a mask keeps what is stored, and a system value as it is must not become custom.
   */
  private void put(Map<String, String> next, String name, String value) {
    if (value.equals(EnvironmentRules.MASK) && EnvironmentRules.isSecret(name)) {
      String stored = custom.get(name);
      if (stored != null) {
        next.put(name, stored);
      }
    } else if (value.equals(system.get(name))) {
      next.remove(name);
    } else {
      next.put(name, value);
    }
  }
}
