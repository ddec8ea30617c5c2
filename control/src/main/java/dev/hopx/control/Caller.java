package dev.hopx.control;

/**
 * Who makes a request.
 *
 * @param organizationId all the caller can see belongs to it
 * @param keyId public part of the API key, fit for logs
 */
public record Caller(long organizationId, String keyId) {}
