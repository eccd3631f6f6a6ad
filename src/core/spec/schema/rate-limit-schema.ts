import * as v from 'valibot';
import { field, wholeNumber } from './field.ts';
import { strictObject } from './strict-object.ts';

/** Form in which a header says when to continue: seconds from now, an instant, or an HTTP date. */
export const WaitFormat = v.picklist(['seconds', 'epoch_s', 'epoch_ms', 'http_date', 'iso']);
export type WaitFormat = v.InferOutput<typeof WaitFormat>;

/** A token bucket: `requests` per `perSeconds`, up to `burst` at once. */
export const RateLimit = v.pipe(
  strictObject({
    scope: field(
      v.optional(v.picklist(['connection', 'org']), 'connection'),
      'Which requests share the limit. `org`: those of all connections of the org with this spec (its key), of all versions and addresses.',
    ),
    requests: field(
      v.optional(v.pipe(v.number(), v.gtValue(0), v.maxValue(1_000_000)), 10),
      'Requests that may be sent in `perSeconds`.',
    ),
    perSeconds: field(
      v.optional(v.pipe(v.number(), v.gtValue(0), v.maxValue(86_400)), 1),
      'The time in seconds in which `requests` may be sent.',
    ),
    burst: field(
      v.exactOptional(wholeNumber(1, 1_000_000)),
      'Requests that may be sent at once after a pause. Absent: `requests`, rounded down, at least 1.',
      20,
    ),
    maxConcurrent: field(
      v.optional(wholeNumber(1, 1000), 4),
      'Concurrent runs of a connection, and concurrent requests of one run; of `http.rateLimit` only. Up to 8 of these prefetch numbered pages (`page`, `offset`); 1: every page is requested after the one before it.',
    ),
    headers: field(
      v.exactOptional(
        strictObject({
          remaining: field(
            v.exactOptional(v.string()),
            'The header with the number of requests that are left. Absent: not read.',
            'x-ratelimit-remaining',
          ),
          reset: field(
            v.exactOptional(v.string()),
            'The header that says when there are more. Absent: not read.',
            'x-ratelimit-reset',
          ),
          resetFormat: field(v.optional(WaitFormat, 'epoch_s'), 'The form of the value of `reset`.'),
        }),
      ),
      'Response headers with the remaining budget of the API: at `remaining` below 1 nothing of the bucket is sent until `reset`, but no longer than `http.retry.maxWaitSeconds`. Absent: only the numbers above count.',
      { remaining: 'x-ratelimit-remaining', reset: 'x-ratelimit-reset', resetFormat: 'epoch_s' },
    ),
  }),
  // A bucket deeper than the declared rate would exceed that rate.
  v.transform((limit) => ({ ...limit, burst: limit.burst ?? Math.max(1, Math.floor(limit.requests)) })),
);
export type RateLimit = v.InferOutput<typeof RateLimit>;

export const RetrySettings = strictObject({
  maxAttempts: field(
    v.optional(wholeNumber(1, 20), 6),
    'Attempts at one request, the first one included. After the last one the run fails with `source_unavailable`.',
  ),
  baseMs: field(
    v.optional(wholeNumber(1, 600_000), 500),
    'Milliseconds: the delay before retry n is a random time up to `baseMs` * 2^n.',
  ),
  maxMs: field(v.optional(wholeNumber(1, 3_600_000), 60_000), 'The longest such delay in milliseconds.'),
  maxWaitSeconds: field(
    v.optional(wholeNumber(0, 604_800), 3600),
    'The longest Retry-After in seconds that is respected; a longer one fails the run.',
  ),
});
