import type { Db } from '../../db/client.ts';
import { type BucketRate, emptyBucket } from '../../db/queries/connections/buckets.ts';
import type { OrgScope } from '../../db/scope.ts';
import type { HttpClientOptions } from '../core/http/client.ts';
import type { HttpRequest, HttpResponse } from '../core/model/http.ts';
import { leftOf } from '../core/source/read/budget-left.ts';
import { waitIn } from '../core/source/request/error-rules.ts';
import type { HttpSettings, RateLimit } from '../core/spec/schema/http-schema.ts';
import { createPrefetchedPermits } from './prefetched-permits.ts';

/** The connection whose requests share the buckets, and their limits in the spec. */
interface RateLimitsOptions {
  readonly connectionId: string;
  readonly specKey: string;
  readonly http: Pick<HttpSettings, 'rateLimit' | 'retry'>;
}

type RateLimits = Required<Pick<HttpClientOptions, 'takeToken' | 'noteResponse'>>;

/**
 * The buckets of a connection's requests, in the database, so that they hold across processes: the API's own, and the
 * narrower one of a request that has one. A request goes when both let it.
 */
export function createRateLimits(db: Db, scope: OrgScope, options: RateLimitsOptions): RateLimits {
  const shared = bucketOf(options.http.rateLimit, 'http', options);
  return limitsOver(db, scope, { ...options, bucketsOf: (request) => [...ownBucket(request, options), shared] });
}

/**
 * The bucket of a connection's login requests, if the login has one. The API's own bucket is not used: a request that
 * already has its token there would wait for a second one.
 */
export const createLoginRateLimits = (db: Db, scope: OrgScope, options: RateLimitsOptions): RateLimits =>
  limitsOver(db, scope, { ...options, bucketsOf: (request) => ownBucket(request, options) });

function limitsOver(
  db: Db,
  scope: OrgScope,
  { http, bucketsOf }: RateLimitsOptions & { readonly bucketsOf: (request: HttpRequest) => readonly Bucket[] },
): RateLimits {
  const waitMsMax = http.retry.maxWaitSeconds * 1000;
  const permits = createPrefetchedPermits(db, scope);
  return {
    async takeToken(request, { reserveWithinMs }) {
      let longest = 0;
      for (const { rate } of bucketsOf(request)) {
        const waitMs = await permits.take(rate, reserveWithinMs);
        // A request that must come back later takes from all of them again; the earlier token costs one slot at most.
        if (waitMs > reserveWithinMs) return waitMs;
        longest = Math.max(longest, waitMs);
      }
      return longest;
    },
    async noteResponse(request, response) {
      for (const { rate, limit } of bucketsOf(request)) {
        const waitMs = askedWaitMs(limit, response);
        if (waitMs !== null && waitMs > 0) {
          permits.clear();
          await emptyBucket(db, scope, { rate, waitMs: Math.min(waitMs, waitMsMax) });
        }
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
function askedWaitMs(limit: RateLimit, response: HttpResponse): number | null {
  const { headers: names } = limit;
  const { headers } = response;
  if (names?.reset === undefined || !(leftOf(limit, response) < 1)) return null;
  // The reset is an instant of the API's clock.
  const now = Date.parse(headers['date'] ?? '');
  return waitIn(headers[names.reset.toLowerCase()], names.resetFormat, new Date(Number.isNaN(now) ? Date.now() : now));
}
