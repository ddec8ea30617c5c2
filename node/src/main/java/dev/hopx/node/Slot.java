package dev.hopx.node;

/**
 * What a sandbox has of the numbered things of a node, and nobody else at the same time.
 *
 * @param address IPv4 address of the sandbox
 * @param link name of the host's end of its network link
 */
record Slot(int number, IdRange ids, String address, String link) {}
