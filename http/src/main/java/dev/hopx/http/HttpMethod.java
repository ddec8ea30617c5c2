package dev.hopx.http;

/** The methods our routes know. */
public enum HttpMethod {
  GET,
  POST,
  PUT,
  PATCH,
  DELETE
}
