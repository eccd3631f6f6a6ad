import { createFairQueue } from '../../core/work/fair-queue.ts';
import { HttpRejection } from '../errors.ts';
import { createInProgress } from './in-progress.ts';

/**
 * How the costly requests of an org run. `one_by_one`: after the one before it of this kind has ended, as each holds a
 * connection of the database meanwhile, and those of one org must not hold all of them.
 */
export type CostlyOrder = 'side_by_side' | 'one_by_one';

/** Counts the costly requests of each org that this process works on. Each process counts for itself, in memory. */
export interface CostlyRequests {
  /**
   * Does the work of one request. Throws an {@link HttpRejection} 429 with `Retry-After`, and begins nothing, when the
   * org has reached its limit. Requests begin one after the other, those of orgs in turn, and between two of them the
   * process does what else there is: to check a spec takes it up to a second.
   */
  run<Result>(orgId: string, order: CostlyOrder, work: () => Promise<Result>): Promise<Result>;
}

/**
 * The costly requests of one org at once. Two evaluators work off 20 previews that take the longest time, 2 s, in 20 s:
 * before clients give up, at 30 s mostly. 20 tests of connections whose peers are silent hold 40 sockets.
 */
const costlyMax = 20;
/** The longest time of a preview in seconds: by then one of those in progress has ended, unless peers are silent. */
const retryAfterSeconds = 2;

/** Starts with no request in progress. */
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

/** A queue for each org: resolves once the earlier requests have finished, by disposing of their place. */
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

/**
 * The milliseconds below which a request counts as short: it lets others in between in one turn of the process's event
 * loop.
 */
const shortMs = 20;

/**
 * Resolves for one request after the other, and lets other work run in between. A request of another org takes several
 * turns of the event loop, so it gets as much time as the request before has used.
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
    `Your org has ${costlyMax} costly requests in progress (drafts, previews, changes of connections, tests of specs and connections). Wait until one of them has ended.`,
    { headers: { 'retry-after': String(retryAfterSeconds) } },
  );
