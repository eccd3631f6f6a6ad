import * as v from 'valibot';
import { JsonObject, JsonValue } from '../../json/json-value.ts';
import { mapOf, strictObject } from '../../strict-object.ts';

/** Text with `{{ JSONata }}` holes; see template.ts. */
export const Template = v.string();

/** A bare JSONata expression. */
export const Expression = v.string();

/** Header names to templates. */
export const HeaderTemplates = mapOf(
  v.pipe(v.string(), v.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/, 'expected a header name')),
  Template,
);

/** The form in which a header says when to continue: seconds from now, an instant, or an HTTP date. */
export const WaitFormat = v.picklist(['seconds', 'epoch_s', 'epoch_ms', 'http_date', 'iso']);
export type WaitFormat = v.InferOutput<typeof WaitFormat>;

/** A token bucket: `requests` per `perSeconds`, up to `burst` at once. */
const RateLimit = v.pipe(
  strictObject({
    /** `org`: one bucket for all connections of the org with this spec (its key), for all versions and addresses. */
    scope: v.optional(v.picklist(['connection', 'org']), 'connection'),
    requests: v.optional(v.pipe(v.number(), v.gtValue(0), v.maxValue(1_000_000)), 10),
    perSeconds: v.optional(v.pipe(v.number(), v.gtValue(0), v.maxValue(86_400)), 1),
    burst: v.exactOptional(v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(1_000_000))),
    /**
     * Concurrent runs of a connection, and concurrent requests of one run; of `http.rateLimit` only. Up to 8 of these
     * prefetch numbered pages (`page`, `offset`); 1: every page is requested after the one before it.
     */
    maxConcurrent: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(1000)), 4),
    /**
     * Response headers with the remaining budget of the API: at `remaining` below 1 nothing of the bucket is sent until
     * `reset`, but no longer than `http.retry.maxWaitSeconds`.
     */
    headers: v.exactOptional(
      strictObject({
        remaining: v.exactOptional(v.string()),
        reset: v.exactOptional(v.string()),
        resetFormat: v.optional(WaitFormat, 'epoch_s'),
      }),
    ),
  }),
  // A bucket deeper than the declared rate would exceed the limit that it declares.
  v.transform((limit) => ({ ...limit, burst: limit.burst ?? Math.max(1, Math.floor(limit.requests)) })),
);
export type RateLimit = v.InferOutput<typeof RateLimit>;

/** Retries of one logical request; the delay is random(0, min(maxMs, baseMs * 2^n)). */
const RetrySettings = strictObject({
  maxAttempts: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(20)), 6),
  baseMs: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(600_000)), 500),
  maxMs: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(3_600_000)), 60_000),
  /** The longest Retry-After that is respected; a longer one fails the run. */
  maxWaitSeconds: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(604_800)), 3600),
});

const HttpStatus = v.pipe(v.number(), v.safeInteger(), v.minValue(100), v.maxValue(599));

/** A list of HTTP statuses. */
export const HttpStatuses = v.array(HttpStatus);

/** The action for a response; all conditions of `when` must hold, the first rule that matches wins. */
export const ErrorRule = strictObject({
  when: strictObject({
    status: v.exactOptional(
      v.pipe(
        v.array(v.union([HttpStatus, v.picklist(['4xx', '5xx', 'network', 'timeout'])])),
        v.minLength(1),
        v.maxLength(100),
      ),
    ),
    expr: v.exactOptional(Expression),
  }),
  action: v.picklist(['retry', 'rate_limited', 'refresh_auth', 'empty', 'skip_partition', 'fail']),
  waitFrom: v.exactOptional(strictObject({ header: v.string(), format: WaitFormat })),
  message: v.exactOptional(v.pipe(v.string(), v.maxLength(500))),
  /** `error`: the connection goes to `error` when the rule fails the run. */
  connection: v.exactOptional(v.literal('error')),
});
export type ErrorRule = v.InferOutput<typeof ErrorRule>;

/** Milliseconds for one attempt, body included. */
const TimeoutMs = v.pipe(v.number(), v.safeInteger(), v.minValue(1000), v.maxValue(120_000));

/** Settings that all requests of the spec share. */
export const HttpSettings = strictObject({
  /** Absent only when every request has its own `url`. */
  baseUrl: v.exactOptional(Template),
  headers: v.optional(HeaderTemplates, {}),
  query: v.optional(JsonObject, {}),
  /** Hosts besides baseUrl's that next links may lead to: exact or `*.host`. */
  allowedHosts: v.optional(
    v.pipe(
      v.array(
        v.pipe(v.string(), v.regex(/^(\*\.)?([A-Za-z0-9-]{1,63}\.)*[A-Za-z0-9-]{1,63}$/, 'expected host or *.host')),
      ),
      v.maxLength(100),
    ),
    [],
  ),
  timeoutMs: v.optional(TimeoutMs, 30_000),
  /** Decoded bytes of one response. */
  maxResponseBytes: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(104_857_600)), 52_428_800),
  redirects: v.optional(v.picklist(['same_origin', 'none']), 'same_origin'),
  retry: v.optional(RetrySettings, {}),
  rateLimit: v.optional(RateLimit, {}),
  /** Evaluated after the resource's own rules. */
  errors: v.optional(v.array(ErrorRule), []),
});
export type HttpSettings = v.InferOutput<typeof HttpSettings>;

/** One request; exactly one of `path` and `url`. Values of `query` and `body` are JSON whose strings are templates. */
export const RequestTemplate = strictObject({
  method: v.optional(v.picklist(['GET', 'POST']), 'GET'),
  path: v.exactOptional(Template),
  url: v.exactOptional(Template),
  query: v.optional(JsonObject, {}),
  headers: v.optional(HeaderTemplates, {}),
  /** Exactly one of its properties; only with POST. */
  body: v.exactOptional(
    strictObject({
      json: v.exactOptional(JsonValue),
      form: v.exactOptional(JsonObject),
      text: v.exactOptional(Template),
      graphql: v.exactOptional(strictObject({ query: Template, variables: v.optional(JsonObject, {}) })),
    }),
  ),
  arrayFormat: v.optional(v.picklist(['repeat', 'comma', 'brackets', 'indices']), 'repeat'),
  timeoutMs: v.exactOptional(TimeoutMs),
  /** A second, narrower bucket besides that of `http`; requests with the same method and path template share it. */
  rateLimit: v.exactOptional(RateLimit),
  /**
   * `conditional`: requested with the validators of the last response, which is valid again at a 304. `ttl`: not
   * requested for `ttlSeconds` after it; for a login, whose response is stored as its token, its longest lifetime.
   */
  cache: v.optional(
    strictObject({
      mode: v.optional(v.picklist(['none', 'conditional', 'ttl']), 'none'),
      ttlSeconds: v.exactOptional(v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(2_592_000))),
    }),
    {},
  ),
});
export type RequestTemplate = v.InferOutput<typeof RequestTemplate>;
