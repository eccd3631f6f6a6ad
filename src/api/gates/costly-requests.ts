import { createFairQueue } from '../../core/work/fair-queue.ts';
import { HttpRejection } from '../errors.ts';
import { createInProgress } from './in-progress.ts';

/** `one_by_one`: in turn within the org, as each holds a database connection and one org must not hold them all. */
export type CostlyOrder = 'side_by_side' | 'one_by_one';

/** Limits the costly requests of each org, in memory per process. */
export interface CostlyRequests {
  /**
   * Throws an {@link HttpRejection} 429 with `Retry-After`, before any work, at the org's limit.
   * Requests begin one at a time, with orgs taking turns and other work in between: checking a spec takes up to a
   * second.
   */
  run<Result>(orgId: string, order: CostlyOrder, work: () => Promise<Result>): Promise<Result>;
}

/**
 * Per org. Two evaluators need 20 s for 20 previews of the longest time, 2 s; most clients give up at 30 s. Silent
 * peers of 20 connection tests hold 40 sockets.
 */
const costlyMax = 20;
/** The longest time of a preview in seconds: by then one of those in progress has ended, unless peers are silent. */
const retryAfterSeconds = 2;

export function createCostlyRequests(): CostlyRequests {
  const counter = createInProgress(costlyMax, tooManyAtOnce);
  const nextTurn = createBeginnings();
  const behindOthers = createLines();
  return {
    async run(orgId, order, work) {
      const end = counter.begin(orgId);
      try {
        using _place = order === 'one_by_one' ? await behindOthers(orgId) : null;
        await nextTurn(orgId);
        return await work();
      } finally {
        end();
      }
    },
  };
}

/** Resolves once the org's earlier requests have disposed of their place. */
function createLines(): (orgId: string) => Promise<Disposable> {
  const lasts = new Map<string, Promise<void>>();
  return async (orgId) => {
    const before = lasts.get(orgId);
    const { promise: left, resolve } = Promise.withResolvers<void>();
    lasts.set(orgId, left);
    await before;
    return {
      [Symbol.dispose]() {
        if (lasts.get(orgId) === left) lasts.delete(orgId);
        resolve();
      },
    };
  };
}

/** A request shorter than this, in milliseconds, yields only one turn of the event loop. */
const shortMs = 20;

/**
 * Resolves for one request at a time; the next waits as long as the previous one ran, so that other work runs in
 * between.
 */
function createBeginnings(): (orgId: string) => Promise<void> {
  const waiting = createFairQueue<() => void>();
  let isTurning = false;
  const turn = (): void => {
    const begin = waiting.take(() => true);
    isTurning = begin !== undefined;
    if (!begin) return;
    const begunAt = performance.now();
    begin();
    setImmediate(() => {
      const heldMs = performance.now() - begunAt;
      if (heldMs < shortMs) turn();
      else setTimeout(turn, heldMs);
    });
  };
  return (orgId) =>
    new Promise((resolve) => {
      waiting.add(orgId, resolve);
      if (!isTurning) turn();
    });
}

const tooManyAtOnce = (): HttpRejection =>
  new HttpRejection(
    'rate_limited',
    `Your org has ${costlyMax} costly requests in progress (drafts, previews, changes and authorizations of connections, tests of specs and connections). Wait until one of them has ended.`,
    { headers: { 'retry-after': String(retryAfterSeconds) } },
  );
