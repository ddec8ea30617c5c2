package dev.hopx.agent;

import dev.hopx.api.ApiException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Shell text and plain command lines as programs. A text too long for an argument (the kernel takes
 * 128 KiB) is read by the shell from its stdin; the text's own stdin is /dev/null either way.
 */
final class ShellProgram {
  /** Bytes of a text that is passed as an argument; the frame and the kernel take more. */
  static final int MAX_ARGUMENT = 96 << 10;

  private static final String READ_TEXT = "eval \"$(cat)\" </dev/null";

  /** Where a bash may be, whatever the caller's PATH says. */
  private static final List<String> BASHES =
      List.of("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash");

  private static final String SH = "/bin/sh";

  /** Documents promise the message of a shell that does not count lines (CMD-03). */
  private static final String NOT_FOUND_HANDLER =
      "command_not_found_handle(){ "
          + "printf '%s: %s: command not found\\n' \"$0\" \"$1\" >&2; return 127; };";

  private static final Set<String> SHELLS = Set.of("bash", "sh", "dash", "ash", "zsh");

  private ShellProgram() {}

  /** {@code /execute} in Bash. */
  static Program code(String text) {
    return text("code", "", text, "bash");
  }

  /** {@code /commands/run} with the text alone. */
  static Program command(String text) {
    return text("command", NOT_FOUND_HANDLER, text, SH);
  }

  private static Program text(String field, String preamble, String text, String zero) {
    refuseNul(field, text);
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    boolean isLong = bytes.length > MAX_ARGUMENT;
    String argument = isLong ? READ_TEXT : text;
    List<List<String>> lines = new ArrayList<>();
    for (String bash : BASHES) {
      lines.add(List.of(bash, "-c", preamble + argument, zero));
    }
    lines.add(List.of(SH, "-c", argument, zero.equals(SH) ? SH : "sh"));
    return isLong ? Program.of(lines, SH, bytes) : Program.of(lines, SH);
  }

  /** {@code /commands/run} with arguments: exactly what was given. */
  static Program exact(String command, List<String> arguments) {
    refuseNul("command", command);
    arguments.forEach(argument -> refuseNul("args", argument));
    List<String> line = new ArrayList<>();
    line.add(command);
    line.addAll(arguments);
    if (arguments.size() >= 2 && isShellWithText(command, arguments.getFirst())) {
      byte[] text = arguments.get(1).getBytes(StandardCharsets.UTF_8);
      if (text.length > MAX_ARGUMENT) {
        line.set(2, READ_TEXT);
        return Program.of(List.of(line), command, text);
      }
    }
    return Program.of(List.of(line), command);
  }

  private static boolean isShellWithText(String command, String option) {
    String name = command.substring(command.lastIndexOf('/') + 1);
    return SHELLS.contains(name) && option.matches("-[a-z]*c");
  }

  private static void refuseNul(String field, String text) {
    if (text.indexOf('\0') >= 0) {
      throw ApiException.invalidField(field, "must not hold a NUL character");
    }
  }
}
