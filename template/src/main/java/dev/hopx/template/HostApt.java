package dev.hopx.template;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * How this host's apt reaches its mirrors: proxies, time-outs, credentials. mmdebstrap reads none
 * of it by itself.
 */
final class HostApt {
  // One setting a line, as "apt-config dump" prints them: Acquire::http::Proxy "http://…";
  private static final Pattern TAKEN_OVER =
      Pattern.compile(
          "^Acquire::(?:(?:http|https)::(?:Proxy|ProxyAutoDetect|Proxy-Auto-Detect|User-Agent"
              + "|Timeout|Pipeline-Depth|CaInfo|CaPath|SslCert|SslKey|Verify-Peer|Verify-Host"
              + "|AllowRedirect|No-Cache)(?:::[^ ]*)?"
              + "|Retries|ForceIPv4|ForceIPv6|Check-Valid-Until|Check-Date) \"[^\"]+\";$");

  private HostApt() {}

  /** The settings a build takes over, from the lines of {@code apt-config dump}. */
  static List<String> takenOver(List<String> dump, Path etcApt) {
    List<String> settings = new ArrayList<>();
    for (String line : dump) {
      if (TAKEN_OVER.matcher(line).matches()) {
        settings.add(line);
      }
    }
    if (settings.stream().noneMatch(line -> line.startsWith("Acquire::Retries "))) {
      settings.add("Acquire::Retries \"3\";");
    }
    // apt runs outside the new root but with its directories inside: absolute paths lead out.
    if (Files.isRegularFile(etcApt.resolve("auth.conf"))) {
      settings.add("Dir::Etc::netrc \"" + etcApt.resolve("auth.conf").toAbsolutePath() + "\";");
    }
    if (Files.isDirectory(etcApt.resolve("auth.conf.d"))) {
      settings.add(
          "Dir::Etc::netrcparts \"" + etcApt.resolve("auth.conf.d").toAbsolutePath() + "\";");
    }
    return settings;
  }

  static List<String> dump() {
    List<String> lines = new ArrayList<>();
    int status = SupervisedProcess.run(List.of("apt-config", "dump"), false, lines::add);
    if (status != 0) {
      throw new TemplateException(
          "apt-config failed with status "
              + status
              + ": templates can be built on Debian only; the last line was: "
              + (lines.isEmpty() ? "" : lines.getLast()));
    }
    return lines;
  }
}
