import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import { BurstyRateLimiter, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { HttpRejection } from '../errors.ts';

/**
 * Rate limits per client, in memory, per process. Both methods throw an {@link HttpRejection} 429 with `Retry-After`.
 */
export interface RateLimits {
  countRequest(keyId: string): Promise<void>;
  /** By address. Valid credentials are never limited that way: behind a proxy, all clients share one address. */
  countRefused(address: string): Promise<void>;
}

/** Burst as a multiple of the requests per second. */
const burstFactor = 5;
const burstEverySeconds = 60;
const refusedPerSecond = 20;
const refusedAtOnce = 300;

/** `null` without a limit. */
export function createRateLimits(requestsPerSecond: number | null): RateLimits | null {
  if (requestsPerSecond === null) return null;
  const requests = createLimiter(requestsPerSecond, requestsPerSecond * burstFactor);
  const refused = createLimiter(refusedPerSecond, refusedAtOnce);
  return {
    countRequest: (keyId) => take(requests, keyId),
    countRefused: (address) => take(refused, address),
  };
}

const sessionPoints = { points: 120, duration: 60 };

/** Counts requests of one connect session, whose token is with somebody outside; throws as {@link RateLimits}. */
export function createSessionLimit(): (sessionId: string) => Promise<void> {
  const limiter = new RateLimiterMemory(sessionPoints);
  return (sessionId) => take(limiter, sessionId);
}

/** The client's or a proxy's address: forwarding headers are not trusted. */
export function addressOf({ env }: Pick<Context, 'env'>): string {
  // Requests that do not come from the server, as in tests, have no socket.
  const bindings: Partial<HttpBindings> | undefined = env;
  return bindings?.incoming?.socket.remoteAddress ?? '';
}

function createLimiter(perSecond: number, atOnce: number): BurstyRateLimiter {
  const steady = new RateLimiterMemory({ points: perSecond, duration: 1 });
  return new BurstyRateLimiter(
    steady,
    new RateLimiterMemory({ points: atOnce - perSecond, duration: burstEverySeconds }),
  );
}

async function take(limiter: Pick<RateLimiterMemory, 'consume'>, client: string): Promise<void> {
  try {
    await limiter.consume(client);
  } catch (error) {
    if (!(error instanceof RateLimiterRes)) throw error;
    const seconds = Math.max(1, Math.ceil(error.msBeforeNext / 1000));
    throw new HttpRejection(
      'rate_limited',
      `Too many requests: wait ${seconds} s, as Retry-After says, and send fewer requests.`,
      { headers: { 'retry-after': String(seconds) } },
    );
  }
}
