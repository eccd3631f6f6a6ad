import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { type SettledAttempt, type Settlement, settleAttempts } from '../db/queries/webhooks/settle.ts';
import type { Database } from '../db/schema.ts';
import type { OrgScope } from '../db/scope.ts';

/** Records the results of attempts, many at a time. */
export interface Settler {
  /** Takes the result of an attempt; it is recorded soon. */
  add(one: SettledAttempt): void;
  /** True: a failure is not recorded yet, and the next claim must see it. */
  holdsFailure(): boolean;
  /** Records everything that was added. Throws when the database does not take it. */
  settle(): Promise<void>;
}

/** The options of a settler. */
export interface SettlerOptions extends Omit<Settlement, 'settled'> {
  readonly db: Kysely<Database>;
  readonly scope: OrgScope;
  /** Called after a commit that recorded events. */
  readonly onEvents: () => void;
}

/** Results are recorded when there are this many, or after this time, ms. */
const batchMax = 50;
const waitMs = 250;
/** A short database outage loses no result: pauses before each retry, ms. */
const retryPausesMs = [100, 400, 1600, 5000];

/** Makes a settler for the attempts of one lease token. */
export function createSettler({ db, scope, onEvents, ...settlement }: SettlerOptions): Settler {
  let waiting: SettledAttempt[] = [];
  let timer: NodeJS.Timeout | undefined;
  let last: Promise<void> = Promise.resolve();
  let failure: { readonly error: unknown } | null = null;

  const settleWaiting = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const settled = waiting;
    waiting = [];
    if (settled.length > 0 && (await withRetries(() => settleAttempts(db, scope, { ...settlement, settled }))))
      onEvents();
  };
  // One after the other: the endpoint's health depends on the order of the attempts.
  const start = (): Promise<void> => {
    last = last.then(settleWaiting).catch((error: unknown) => {
      failure ??= { error };
    });
    return last;
  };
  return {
    add(one) {
      waiting.push(one);
      if (waiting.length >= batchMax) void start();
      else timer ??= setTimeout(() => void start(), waitMs);
    },
    holdsFailure: () => waiting.some(({ verdict }) => !verdict.delivered),
    async settle() {
      await start();
      if (failure) throw failure.error;
    },
  };
}

async function withRetries<Value>(work: () => Promise<Value>): Promise<Value> {
  for (const pauseMs of retryPausesMs) {
    try {
      return await work();
    } catch {
      await sleep(pauseMs);
    }
  }
  return await work();
}
