package dev.hopx.agent;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;

/**
 * Programs that run code of an interpreter: it goes in over stdin, so that it may have any size.
 */
final class CodePrograms {
  private final String python = resource("run-python.py");
  private final String javascript = resource("run-javascript.js");

  Program python(String code) {
    // Unbuffered, so that what was printed before a time-out is there.
    List<String> options = List.of("-u", "-c", python);
    return Program.of(
        List.of(line("python3", options), line("python", options)), "python3", bytes(code));
  }

  Program javascript(String code) {
    // ES modules are compiled by the vm module, which node hides behind this option.
    List<String> options = List.of("--experimental-vm-modules", "-e", javascript);
    return Program.of(List.of(line("node", options), line("nodejs", options)), "node", bytes(code));
  }

  private static List<String> line(String program, List<String> options) {
    return Stream.concat(Stream.of(program), options.stream()).toList();
  }

  private static byte[] bytes(String code) {
    return code.getBytes(StandardCharsets.UTF_8);
  }

  private static String resource(String name) {
    try (InputStream stream = CodePrograms.class.getResourceAsStream(name)) {
      if (stream == null) {
        throw new IllegalStateException("The jar lacks " + name);
      }
      return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException failure) {
      throw new UncheckedIOException("Cannot read " + name, failure);
    }
  }
}
