import type { BucketRate } from '../../db/queries/connections/buckets.ts';
import type { HttpClientOptions } from '../core/http/client.ts';
import type { HttpRequest, HttpResponse } from '../core/model/http.ts';
import { leftOf } from '../core/source/read/budget-left.ts';
import { waitIn } from '../core/source/request/error-rules.ts';
import type { HttpSettings, RateLimit } from '../core/spec/schema/http-schema.ts';

/** The connection whose requests share the buckets, and their limits in the spec. */
export interface RateLimitsOptions {
  readonly connectionId: string;
  readonly specKey: string;
  readonly http: Pick<HttpSettings, 'rateLimit' | 'retry'>;
}

/** What a client asks before and after a request. */
export type RateLimits = Required<Pick<HttpClientOptions, 'takeToken' | 'noteResponse'>>;

/** Where tokens are taken from. */
export interface Buckets {
  /** Milliseconds to wait before sending. At most `waitMsMax`: the token is the caller's. More: it is not. */
  take(rate: BucketRate, waitMsMax: number): Promise<number>;
  /** Empties a bucket until `waitMs` from now, as the API requests. */
  empty(rate: BucketRate, waitMs: number): Promise<void>;
}

/**
 * The limits of a connection's requests: the API's own, and the narrower one of a request that has one. A request goes
 * when both let it.
 */
export function limitsOverBuckets(buckets: Buckets, options: RateLimitsOptions): RateLimits {
  const shared = bucketOf(options.http.rateLimit, 'http', options);
  return limitsOver(buckets, { ...options, bucketsOf: (request) => [...ownBucket(request, options), shared] });
}

/**
 * The limits of a connection's login requests: those of the login, if it has any. The API's own bucket is not used: a
 * request that already has its token there would wait for a second one.
 */
export const loginLimitsOverBuckets = (buckets: Buckets, options: RateLimitsOptions): RateLimits =>
  limitsOver(buckets, { ...options, bucketsOf: (request) => ownBucket(request, options) });

function limitsOver(
  buckets: Buckets,
  { http, bucketsOf }: RateLimitsOptions & { readonly bucketsOf: (request: HttpRequest) => readonly Bucket[] },
): RateLimits {
  const waitMsMax = http.retry.maxWaitSeconds * 1000;
  return {
    async takeToken(request, { reserveWithinMs }) {
      let longest = 0;
      for (const { rate } of bucketsOf(request)) {
        const waitMs = await buckets.take(rate, reserveWithinMs);
        // A request that must come back later takes from all of them again; the earlier token costs one slot at most.
        if (waitMs > reserveWithinMs) return waitMs;
        longest = Math.max(longest, waitMs);
      }
      return longest;
    },
    async noteResponse(request, response) {
      for (const { rate, limit } of bucketsOf(request)) {
        const waitMs = resetWaitMs(limit, response);
        if (waitMs !== null && waitMs > 0) await buckets.empty(rate, Math.min(waitMs, waitMsMax));
      }
    },
  };
}

const ownBucket = ({ rateLimit }: HttpRequest, options: RateLimitsOptions): readonly Bucket[] =>
  rateLimit === undefined ? [] : [bucketOf(rateLimit, rateLimit.name, options)];

function bucketOf(limit: RateLimit, name: string, { connectionId, specKey }: RateLimitsOptions): Bucket {
  const { requests, perSeconds, burst } = limit;
  const owner = limit.scope === 'org' ? { connectionId: null, name: `${specKey}: ${name}` } : { connectionId, name };
  return { limit, rate: { ...owner, requests, perSeconds, burst } };
}

interface Bucket {
  readonly limit: RateLimit;
  readonly rate: BucketRate;
}

/** Milliseconds to the reset of a budget that is used up; null: something is left, or the response does not say. */
function resetWaitMs(limit: RateLimit, response: HttpResponse): number | null {
  const { headers: names } = limit;
  const { headers } = response;
  if (names?.reset === undefined || !(leftOf(limit, response) < 1)) return null;
  // The reset is an instant of the API's clock.
  const now = Date.parse(headers['date'] ?? '');
  return waitIn(headers[names.reset.toLowerCase()], names.resetFormat, new Date(Number.isNaN(now) ? Date.now() : now));
}
