package dev.hopx.control;

/**
 * What an operator decides about the control plane.
 *
 * @param version of the server, for {@code /health}
 * @param region name of the one local region (decision 25)
 * @param firstAgentPort lowest TCP port for agents, 1 to 65535
 * @param lastAgentPort highest TCP port for agents, inclusive
 */
public record ControlSettings(
    String version, String region, int firstAgentPort, int lastAgentPort) {
  public ControlSettings {
    if (firstAgentPort < 1 || lastAgentPort > 65535 || firstAgentPort > lastAgentPort) {
      throw new IllegalArgumentException(
          "agent ports must be a range within 1 to 65535, not "
              + firstAgentPort
              + "-"
              + lastAgentPort);
    }
    if (!Regions.isWellFormed(region)) {
      throw new IllegalArgumentException(
          "region must be lower-case letters, digits and hyphens, not " + region);
    }
  }
}
