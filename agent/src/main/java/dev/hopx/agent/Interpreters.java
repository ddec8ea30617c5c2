package dev.hopx.agent;

import java.util.EnumMap;
import java.util.Map;

/** The interpreters of one sandbox. They cost nothing before their first run. */
final class Interpreters {
  private final Map<InterpreterKind, Interpreter> byKind = new EnumMap<>(InterpreterKind.class);

  Interpreters(AgentSession session) {
    for (InterpreterKind kind : InterpreterKind.values()) {
      byKind.put(kind, new Interpreter(session, kind));
    }
  }

  Interpreter of(InterpreterKind kind) {
    Interpreter found = byKind.get(kind);
    if (found == null) {
      throw new IllegalStateException("No interpreter for " + kind);
    }
    return found;
  }

  void close() {
    byKind.values().forEach(Interpreter::close);
  }
}
