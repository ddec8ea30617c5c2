package dev.hopx.channel;

import java.time.Duration;

/**
 * Times of a guest channel, all positive.
 *
 * @param handshake longest time for HELLO and the first list after a connection
 * @param reconnect how long streams and new requests wait for a guest that is not connected
 * @param answer how long a guest may take to start a process
 */
public record ChannelSettings(Duration handshake, Duration reconnect, Duration answer) {
  public static final ChannelSettings DEFAULT =
      new ChannelSettings(Duration.ofSeconds(5), Duration.ofSeconds(10), Duration.ofSeconds(30));

  public ChannelSettings {
    if (!handshake.isPositive() || !reconnect.isPositive() || !answer.isPositive()) {
      throw new IllegalArgumentException("The times of a guest channel must be positive");
    }
  }
}
