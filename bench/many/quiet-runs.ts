/** Runs that find nothing new, some at once, and when each of them has ended. */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { ManyConnection } from './connections.ts';
import type { ControlPlane } from './control-plane.ts';

/** How many runs, and how many of them at any time. */
export interface QuietRunsPlan {
  readonly connections: readonly ManyConnection[];
  readonly count: number;
  readonly atOnce: number;
}

/** What they took. */
export interface QuietRuns {
  readonly seconds: number;
  /** From the request to the end of each, ms. */
  readonly latencies: readonly number[];
}

/** Between two looks at the runs that are under way, ms. */
const everyMs = 10;

/** Asks for the runs, connection after connection, the next one when one has ended. Throws unless all succeed. */
export async function quietRuns(
  { watcher }: Pick<ControlPlane, 'watcher'>,
  { connections, count, atOnce }: QuietRunsPlan,
): Promise<QuietRuns> {
  await using ends = watchEnds(watcher);
  const latencies: number[] = [];
  let asked = 0;
  const askInTurn = async (): Promise<void> => {
    while (asked < count) {
      const connection = connections[asked % connections.length];
      asked += 1;
      const askedAt = performance.now();
      const runId = (await connection?.request()) ?? '';
      const { status } = await ends.of(runId);
      if (status !== 'succeeded') throw new Error(`Run ${runId} is not what is to be measured: ${status}`);
      latencies.push(performance.now() - askedAt);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: atOnce }, askInTurn));
  return { seconds: (performance.now() - startedAt) / 1000, latencies };
}

interface End {
  readonly id: string;
  readonly status: string;
}

/** Looks for the ends of runs with one query for all of them. */
export interface Ends extends AsyncDisposable {
  /** Resolves when the run has ended. */
  of(runId: string): Promise<End>;
}

/** On a session that nobody else uses. */
export function watchEnds(watcher: pg.Client): Ends {
  const waiting = new Map<string, (end: End) => void>();
  let isOver = false;
  const watch = async (): Promise<void> => {
    while (!isOver) {
      if (waiting.size > 0) {
        const query = { name: 'ends', text: endsSql, values: [[...waiting.keys()]] };
        for (const end of (await watcher.query<End>(query)).rows) {
          waiting.get(end.id)?.(end);
          waiting.delete(end.id);
        }
      }
      await sleep(everyMs);
    }
  };
  const watching = watch();
  return {
    of: (runId) => new Promise((done) => waiting.set(runId, done)),
    async [Symbol.asyncDispose]() {
      isOver = true;
      await watching;
    },
  };
}

const endsSql = 'select id, status from runs where id = any($1) and finished_at is not null';
