package dev.hopx.server;

import ch.qos.logback.classic.Level;
import dev.hopx.server.Configuration.PortRange;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Turns settings into values; a failure says what the setting may be. */
final class SettingParser {
  static final Duration MIN_TOKEN_LIFETIME = Duration.ofMinutes(1);
  static final Duration MAX_TOKEN_LIFETIME = Duration.ofDays(3650);

  /** A sandbox's range of ids. */
  static final long UID_RANGE = 65_536;

  private static final int MAX_PORT = 65_535;
  private static final int MIN_PREFIX = 8;
  private static final int MAX_PREFIX = 30;
  private static final Pattern INSTANCE = Pattern.compile("[a-z][a-z0-9]{0,7}");
  private static final Pattern REGION = Pattern.compile("[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?");
  private static final Pattern HOST = Pattern.compile("[0-9A-Za-z.:\\[\\]%_-]{1,255}");
  private static final Pattern RANGE = Pattern.compile("(\\d{1,5})\\s*-\\s*(\\d{1,5})");
  private static final Pattern DURATION = Pattern.compile("(\\d{1,9})\\s*(s|m|h|d)");
  private static final Pattern SIZE = Pattern.compile("(\\d{1,10})\\s*([KMG](?:iB)?)?");
  private static final Pattern SUBNET =
      Pattern.compile("(\\d{1,3})\\.(\\d{1,3})\\.(\\d{1,3})\\.(\\d{1,3})/(\\d{1,2})");
  private static final List<Level> LEVELS =
      List.of(Level.ERROR, Level.WARN, Level.INFO, Level.DEBUG, Level.TRACE);

  private SettingParser() {}

  static Path directory(Setting setting) {
    if (setting.value().isBlank()) {
      throw setting.invalid("must name a directory");
    }
    try {
      return Path.of(setting.value()).toAbsolutePath().normalize();
    } catch (InvalidPathException invalid) {
      throw setting.invalid("is not a path");
    }
  }

  static String host(Setting setting) {
    if (!HOST.matcher(setting.value()).matches()) {
      throw setting.invalid("must be an address or a host name, e.g. 127.0.0.1");
    }
    return setting.value();
  }

  static int port(Setting setting) {
    return (int) number(setting, 1, MAX_PORT);
  }

  static PortRange portRange(Setting setting) {
    Matcher matcher = RANGE.matcher(setting.value());
    if (matcher.matches()) {
      int first = Integer.parseInt(matcher.group(1));
      int last = Integer.parseInt(matcher.group(2));
      if (first >= 1 && first <= last && last <= MAX_PORT) {
        return new PortRange(first, last);
      }
    }
    throw setting.invalid("must be two ports from 1 to 65535, e.g. 20000-29999");
  }

  static String instance(Setting setting) {
    if (!INSTANCE.matcher(setting.value()).matches()) {
      throw setting.invalid("must be 1 to 8 lower-case letters and digits, a letter first");
    }
    return setting.value();
  }

  static String region(Setting setting) {
    if (!REGION.matcher(setting.value()).matches()) {
      throw setting.invalid("must be 1 to 32 lower-case letters, digits and inner hyphens");
    }
    return setting.value();
  }

  static String subnet(Setting setting) {
    Matcher matcher = SUBNET.matcher(setting.value());
    boolean valid = matcher.matches();
    long address = 0;
    for (int part = 1; valid && part <= 4; part++) {
      int octet = Integer.parseInt(matcher.group(part));
      valid = octet <= 255;
      address = address << 8 | octet;
    }
    if (valid) {
      int prefix = Integer.parseInt(matcher.group(5));
      valid =
          prefix >= MIN_PREFIX
              && prefix <= MAX_PREFIX
              && (address & ((1L << (32 - prefix)) - 1)) == 0;
    }
    if (!valid) {
      throw setting.invalid("must be an IPv4 network from /8 to /30, e.g. 10.213.0.0/16");
    }
    return setting.value();
  }

  static long uidBase(Setting setting) {
    long base = number(setting, UID_RANGE, Integer.MAX_VALUE - UID_RANGE);
    if (base % UID_RANGE != 0) {
      throw setting.invalid("must be a multiple of " + UID_RANGE);
    }
    return base;
  }

  static boolean bool(Setting setting) {
    return switch (setting.value()) {
      case "true" -> true;
      case "false" -> false;
      default -> throw setting.invalid("must be true or false");
    };
  }

  static Duration duration(Setting setting) {
    Matcher matcher = DURATION.matcher(setting.value());
    if (matcher.matches()) {
      long count = Long.parseLong(matcher.group(1));
      Duration duration =
          switch (matcher.group(2)) {
            case "s" -> Duration.ofSeconds(count);
            case "m" -> Duration.ofMinutes(count);
            case "h" -> Duration.ofHours(count);
            default -> Duration.ofDays(count);
          };
      if (duration.compareTo(MIN_TOKEN_LIFETIME) >= 0
          && duration.compareTo(MAX_TOKEN_LIFETIME) <= 0) {
        return duration;
      }
    }
    throw setting.invalid("must be a time of one minute to ten years, e.g. 90m, 24h, 7d");
  }

  static long bodySize(Setting setting) {
    Matcher matcher = SIZE.matcher(setting.value());
    if (matcher.matches()) {
      String unit = matcher.group(2);
      int shift =
          unit == null
              ? 0
              : switch (unit.charAt(0)) {
                case 'K' -> 10;
                case 'M' -> 20;
                default -> 30;
              };
      long count = Long.parseLong(matcher.group(1));
      if (count >= 1 && count <= Integer.MAX_VALUE >> shift) {
        return count << shift;
      }
    }
    throw setting.invalid("must be 1 to 2147483647 bytes, e.g. 1048576 or 16MiB");
  }

  static Level level(Setting setting) {
    for (Level level : LEVELS) {
      if (level.toString().equalsIgnoreCase(setting.value())) {
        return level;
      }
    }
    throw setting.invalid("must be error, warn, info, debug or trace");
  }

  static <E extends Enum<E>> E choice(Setting setting, E[] choices) {
    for (E choice : choices) {
      if (choice.name().toLowerCase(Locale.ROOT).equals(setting.value())) {
        return choice;
      }
    }
    throw setting.invalid(
        "must be "
            + Arrays.stream(choices)
                .map(choice -> choice.name().toLowerCase(Locale.ROOT))
                .collect(Collectors.joining(" or ")));
  }

  static long number(Setting setting, long lowest, long highest) {
    try {
      long number = Long.parseLong(setting.value());
      if (number >= lowest && number <= highest) {
        return number;
      }
    } catch (NumberFormatException notANumber) {
      // The message below says what a number looks like.
    }
    throw setting.invalid("is not a whole number from " + lowest + " to " + highest);
  }
}
