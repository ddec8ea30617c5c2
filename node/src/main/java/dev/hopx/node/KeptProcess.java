package dev.hopx.node;

import dev.hopx.channel.GuestProcess;

/**
 * A process that was to outlive its server and did.
 *
 * @param tag as given to {@link dev.hopx.channel.Spawn}
 * @param process its output goes on where the former server had stopped taking it
 */
public record KeptProcess(String tag, GuestProcess process) {}
