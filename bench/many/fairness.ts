/** One org that queues many runs, and another that asks for one behind them. */
import type { ManyConnection } from './connections.ts';
import type { ControlPlane } from './control-plane.ts';
import { watchEnds } from './quiet-runs.ts';

/** How the one came through. */
export interface Fairness {
  /** Of the many, how many ended before the one did. */
  readonly before: number;
  /** From its request to its end, s. */
  readonly seconds: number;
}

/**
 * Freezes the worker while all runs are asked for, so that every one of the many waits when the one is asked for. Its
 * supervisor is frozen with it: it would start a worker anew that is silent for 5 s.
 */
export async function oneBehindMany(
  { watcher, supervisor, pids }: Pick<ControlPlane, 'watcher' | 'supervisor' | 'pids'>,
  {
    many,
    runs,
    one,
  }: { readonly many: readonly ManyConnection[]; readonly runs: number; readonly one: ManyConnection },
): Promise<Fairness> {
  await using ends = watchEnds(watcher);
  const frozen = [supervisor, pids.worker];
  for (const pid of frozen) process.kill(pid, 'SIGSTOP');
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
    for (const pid of frozen.toReversed()) process.kill(pid, 'SIGCONT');
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
