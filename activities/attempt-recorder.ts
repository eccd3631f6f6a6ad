import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { type AttemptResult, type AttemptResults, recordAttempts } from '../db/queries/webhooks/record-attempts.ts';
import type { Database } from '../db/schema.ts';
import type { OrgScope } from '../db/scope.ts';

/** Records the results of attempts, many at a time. */
export interface AttemptRecorder {
  /** Takes the result of an attempt; it is recorded soon. */
  add(one: AttemptResult): void;
  /** Whether a failure is not recorded yet: the next claim must see it. */
  holdsFailure(): boolean;
  /** Records everything that was added. Throws when the database cannot store it. */
  flush(): Promise<void>;
}

/** The options of a recorder. */
export interface AttemptRecorderOptions extends Omit<AttemptResults, 'results'> {
  readonly db: Kysely<Database>;
  readonly scope: OrgScope;
  /** Wakes endpoints. Called after a commit that recorded events. */
  readonly onEvents: () => void;
}

/** The results that are recorded at once, and the milliseconds after which fewer are. */
const batchMax = 50;
const waitMs = 250;
/** The pauses before each retry in milliseconds: a short database outage loses no result. */
const retryPausesMs = [100, 400, 1600, 5000];

/** Makes a recorder for the attempts of one lease token. */
export function createAttemptRecorder({ db, scope, onEvents, ...attempts }: AttemptRecorderOptions): AttemptRecorder {
  let waiting: AttemptResult[] = [];
  let timer: NodeJS.Timeout | undefined;
  let last: Promise<void> = Promise.resolve();
  let failure: { readonly error: unknown } | null = null;

  const recordWaiting = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const results = waiting;
    waiting = [];
    if (results.length > 0 && (await withRetries(() => recordAttempts(db, scope, { ...attempts, results }))))
      onEvents();
  };
  // One after the other: the endpoint's health depends on the order of the attempts.
  const start = (): Promise<void> => {
    last = last.then(recordWaiting).catch((error: unknown) => {
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
    async flush() {
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
