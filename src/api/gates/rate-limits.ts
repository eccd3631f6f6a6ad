import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import { BurstyRateLimiter, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { HttpRejection } from '../errors.ts';

/**
 * How many requests a client may send to this process; each process counts for itself, in memory. Both throw an
 * {@link HttpRejection} 429 with `Retry-After` when it is too often.
 */
export interface RateLimits {
  /** Counts a request with a valid key. */
  countRequest(keyId: string): Promise<void>;
  /**
   * Counts a credential that was refused, by the address it came from. Valid ones are never refused for the sake of
   * others: behind a proxy, all clients have the same address.
   */
  countRefused(address: string): Promise<void>;
}

/** Requests allowed at once, as a multiple of those allowed per second. */
const burstFactor = 5;
/** The interval of such bursts in seconds. */
const burstEverySeconds = 60;
const refusedPerSecond = 20;
const refusedAtOnce = 300;

/** Null without a limit. */
export function createRateLimits(requestsPerSecond: number | null): RateLimits | null {
  if (requestsPerSecond === null) return null;
  const requests = createLimiter(requestsPerSecond, requestsPerSecond * burstFactor);
  const refused = createLimiter(refusedPerSecond, refusedAtOnce);
  return {
    countRequest: (keyId) => take(requests, keyId),
    countRefused: (address) => take(refused, address),
  };
}

/** The address at the other end of the socket: the client's, or that of a proxy. Headers that name another are not read. */
export function addressOf({ env }: Pick<Context, 'env'>): string {
  // There is no socket where a request does not come from the server.
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

async function take(limiter: BurstyRateLimiter, client: string): Promise<void> {
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
