package dev.hopx.control;

import dev.hopx.api.ApiException;
import dev.hopx.api.ErrorCode;
import dev.hopx.http.HttpExchange;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Pattern;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * {@code POST /v1/sandboxes}. A sandbox whose answer cannot be delivered is taken back (F13). With
 * an {@code Idempotency-Key} the same request gets the same answer again (decision 8); a repetition
 * that comes while the first is at work waits for it.
 */
final class CreateEndpoint {
  /** How long an answer is remembered (decision 8). */
  static final Duration REMEMBERED = Duration.ofHours(24);

  /** Clients give up after a minute. */
  static final Duration MAX_WAIT_FOR_FIRST = Duration.ofSeconds(50);

  static final int MAX_KEY_LENGTH = 255;

  private static final Pattern KEY_FORM =
      Pattern.compile("[\\x21-\\x7e]{1," + MAX_KEY_LENGTH + "}");

  /** The order of keys in a body does not make it another one. */
  private static final JsonMapper CANONICAL =
      JsonMapper.builder().enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS).build();

  private static final TypeReference<LinkedHashMap<String, @Nullable Object>> OBJECT =
      new TypeReference<>() {};

  private final SandboxService service;
  private final SandboxRequests requests;
  private final SandboxTokens tokens;
  private final Store store;
  private final InstantSource clock;
  private final KeyedLocks keys = new KeyedLocks();

  CreateEndpoint(
      SandboxService service,
      SandboxRequests requests,
      SandboxTokens tokens,
      Store store,
      InstantSource clock) {
    this.service = service;
    this.requests = requests;
    this.tokens = tokens;
    this.store = store;
    this.clock = clock;
  }

  void handle(HttpExchange exchange, Caller caller) throws InterruptedException {
    ObjectNode body = exchange.jsonBody();
    Optional<String> key = exchange.header("Idempotency-Key");
    if (key.isEmpty()) {
      create(exchange, caller, body, Optional.empty());
      return;
    }
    if (!KEY_FORM.matcher(key.get()).matches()) {
      throw ApiException.invalidField(
          "Idempotency-Key", "must be 1 to " + MAX_KEY_LENGTH + " printable characters");
    }
    // The key is held until the answer is out or taken back, so a repetition sees the outcome.
    try (KeyedLocks.Held _ =
        keys.tryAcquire(caller.organizationId() + " " + key.get(), MAX_WAIT_FOR_FIRST)
            .orElseThrow(CreateEndpoint::stillRunning)) {
      Repetition repetition = new Repetition(key.get(), digest(body));
      Optional<IdempotencyRows.Answer> earlier =
          store.read(
              handle ->
                  IdempotencyRows.find(
                      handle,
                      caller.organizationId(),
                      repetition.key(),
                      clock.instant().minus(REMEMBERED)));
      if (earlier.isPresent()) {
        repeat(exchange, repetition, earlier.get());
      } else {
        create(exchange, caller, body, Optional.of(repetition));
      }
    }
  }

  private void create(
      HttpExchange exchange, Caller caller, ObjectNode body, Optional<Repetition> repetition) {
    NewSandbox wanted = requests.parseCreate(body);
    AtomicBoolean gone = new AtomicBoolean();
    Map<String, @Nullable Object> answer = new LinkedHashMap<>();
    SandboxRecord sandbox;
    try (HttpExchange.DisconnectWatch _ = exchange.onDisconnect(() -> gone.set(true))) {
      sandbox =
          service.create(
              caller,
              wanted,
              gone::get,
              (handle, started) -> prepare(handle, started, repetition, answer));
    }
    // The watch has ended: a client that closes because it has its answer is not one that left.
    boolean delivered = false;
    try {
      if (!gone.get()) {
        answer.put("request_id", exchange.requestId());
        exchange.sendJson(201, answer);
        delivered = true;
      }
    } finally {
      if (!delivered) {
        service.discard(sandbox);
      }
    }
  }

  private void prepare(
      Handle handle,
      SandboxRecord started,
      Optional<Repetition> repetition,
      Map<String, @Nullable Object> answer) {
    SandboxToken token = tokens.issue(started.id().value());
    answer.putAll(SandboxJson.of(started));
    answer.put("token_expires_at", Timestamps.format(token.expires()));
    repetition.ifPresent(
        known ->
            IdempotencyRows.put(
                handle,
                started.organizationId(),
                known.key(),
                new IdempotencyRows.Answer(
                    known.bodyDigest(),
                    started.id().value(),
                    CANONICAL.writeValueAsString(answer),
                    token.id()),
                clock.instant()));
    answer.put("auth_token", token.value());
  }

  private void repeat(
      HttpExchange exchange, Repetition repetition, IdempotencyRows.Answer earlier) {
    if (!earlier.bodyDigest().equals(repetition.bodyDigest())) {
      throw new ApiException(
          ErrorCode.CONFLICT,
          "This Idempotency-Key was used with another body; use a new key for a new request",
          Map.of("field", "Idempotency-Key"));
    }
    Map<String, @Nullable Object> answer = CANONICAL.readValue(earlier.json(), OBJECT);
    Instant expires = Instant.parse(String.valueOf(answer.get("token_expires_at")));
    SandboxToken token = tokens.sign(earlier.sandboxId(), earlier.tokenId(), expires);
    answer.put("auth_token", token.value());
    answer.put("request_id", exchange.requestId());
    exchange.responseHeader("Idempotency-Replayed", "true");
    exchange.sendJson(201, answer);
  }

  private static String digest(ObjectNode body) {
    try {
      MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
      String canonical = CANONICAL.writeValueAsString(CANONICAL.convertValue(body, OBJECT));
      return HexFormat.of().formatHex(sha256.digest(canonical.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every Java has SHA-256", e);
    }
  }

  private static ApiException stillRunning() {
    return new ApiException(
        ErrorCode.CONFLICT,
        "A request with this Idempotency-Key is still running; try again",
        Map.of("field", "Idempotency-Key", ControlErrors.RETRY_AFTER_DETAIL, 1));
  }

  /** What makes a request the same as another. */
  private record Repetition(String key, String bodyDigest) {}
}
