import type { BucketRate } from '../../db/queries/connections/buckets.ts';
import type { HttpClientOptions } from '../core/http/client.ts';
import type { HttpRequest, HttpResponse } from '../core/model/http.ts';
import { leftOf } from '../core/source/read/budget-left.ts';
import { waitIn } from '../core/source/request/error-rules.ts';
import type { HttpSettings, RateLimit } from '../core/spec/schema/http-schema.ts';

export interface RateLimitsOptions {
  readonly connectionId: string;
  readonly specKey: string;
  readonly http: Pick<HttpSettings, 'rateLimit' | 'retry'>;
}

export type RateLimits = Required<Pick<HttpClientOptions, 'takeToken' | 'noteResponse'>>;

export interface Buckets {
  /** Milliseconds to wait before sending; the token is taken only if they are at most `waitMsMax`. */
  take(rate: BucketRate, waitMsMax: number): Promise<number>;
  /** Empties a bucket until `waitMs` from now, as the API requests. */
  empty(rate: BucketRate, waitMs: number): Promise<void>;
}

/** A request must be allowed by the API's own limit, and by its narrower one if it has that. */
export function limitsOverBuckets(buckets: Buckets, options: RateLimitsOptions): RateLimits {
  const shared = bucketOf(options.http.rateLimit, 'http', options);
  return limitsOver(buckets, { ...options, bucketsOf: (request) => [...ownBucket(request, options), shared] });
}

/** Without the API's own bucket: a request that already has its token there would wait for a second one. */
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
        // A request that must come back later takes all its tokens again; the earlier token costs one slot at most.
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

/** `null` if something is left, or the response does not say. */
function resetWaitMs(limit: RateLimit, response: HttpResponse): number | null {
  const { headers: names } = limit;
  const { headers } = response;
  if (names?.reset === undefined || !(leftOf(limit, response) < 1)) return null;
  // The reset is an instant of the API's clock.
  const now = Date.parse(headers['date'] ?? '');
  return waitIn(headers[names.reset.toLowerCase()], names.resetFormat, new Date(Number.isNaN(now) ? Date.now() : now));
}
