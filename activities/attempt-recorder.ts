import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { type AttemptResult, type AttemptResults, recordAttempts } from '../db/queries/webhooks/record-attempts.ts';
import type { Database } from '../db/schema.ts';
import type { OrgScope } from '../db/scope.ts';

export interface AttemptRecorder {
  add(one: AttemptResult): void;
  /** True if a failure is not recorded yet: the next claim must see it. */
  holdsFailure(): boolean;
  /** Throws if the database cannot store the results. */
  flush(): Promise<void>;
}

export interface AttemptRecorderOptions extends Omit<AttemptResults, 'results'> {
  readonly db: Kysely<Database>;
  readonly scope: OrgScope;
  /** Called after a commit that recorded events, to wake their endpoints. */
  readonly onEvents: () => void;
}

/** Results per batch, and milliseconds until a smaller batch is recorded. */
const batchMax = 50;
const waitMs = 250;
/** Milliseconds before each retry: a short database outage loses no result. */
const retryPausesMs = [100, 400, 1600, 5000];

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
  // In order, because the endpoint's health depends on the order of the attempts.
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
