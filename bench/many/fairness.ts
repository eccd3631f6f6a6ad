/** One org that queues many runs, and another that asks for one behind them. */
import type pg from 'pg';
import type { ManyConnection } from './connections.ts';
import { watchEnds } from './quiet-runs.ts';

/** How the one came through. */
export interface Fairness {
  /** Of the many, how many ended before the one did. */
  readonly before: number;
  /** From its request to its end, s. */
  readonly seconds: number;
}

/** Freezes the worker while all runs are asked for, so that every one of the many waits when the one is asked for. */
export async function oneBehindMany(
  { watcher, workerPid }: { readonly watcher: pg.Client; readonly workerPid: number },
  {
    many,
    runs,
    one,
  }: { readonly many: readonly ManyConnection[]; readonly runs: number; readonly one: ManyConnection },
): Promise<Fairness> {
  await using ends = watchEnds(watcher);
  process.kill(workerPid, 'SIGSTOP');
  const ids: string[] = [];
  let runId: string;
  let askedAt: number;
  try {
    let asked = 0;
    const askInTurn = async (): Promise<void> => {
      while (asked < runs) {
        asked += 1;
        ids.push((await many[asked % many.length]?.request()) ?? '');
      }
    };
    await Promise.all(Array.from({ length: 16 }, askInTurn));
    askedAt = performance.now();
    runId = await one.request();
  } finally {
    process.kill(workerPid, 'SIGCONT');
  }
  await ends.of(runId);
  const seconds = (performance.now() - askedAt) / 1000;
  const { rows } = await watcher.query<{ readonly before: number }>(
    `select count(*)::int as before from runs, (select finished_at from runs where id = $1) one
     where runs.id = any($2) and runs.finished_at <= one.finished_at`,
    [runId, ids],
  );
  return { before: rows[0]?.before ?? Number.NaN, seconds };
}
