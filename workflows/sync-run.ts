/**
 * One run, from the queue of its lane to its final status.
 *
 * What survives a crash: everything that matters is in PostgreSQL before this workflow is notified of it. The sweeper
 * starts a run whose start was lost, by its row; the ledger holds each complete page; the
 * destination's checkpoint row holds the receipt of the last batch. This history holds ids and totals only, and it may
 * be lost whole: the sweeper then starts it again, and it continues from the ledger.
 *
 * Where a record can be seen twice: nowhere at an SQL destination, because rows and receipt are one transaction and
 * a newer attempt fences the older one off. A page in flight at a kill is fetched again, never delivered again. At a
 * webhook, what was in flight at a kill, one request or the destination's `parallelism`: posted again as it was, under
 * the same id.
 */
import { type ChunkResult, nothingRead, type RunTotals, type SyncRunInput, withFirstStep } from './contract.ts';
import { here } from './proxies.ts';
import { openState, restartHistory, runToEnd, tryFirst } from './run-to-end.ts';

/** `last` is what this run had read when its history was restarted; absent: it has just started. */
export async function syncRun(input: SyncRunInput, last?: ChunkResult): Promise<RunTotals> {
  const isNew = input.steps === withFirstStep && last === undefined;
  const state = openState(isNew ? 'running' : 'waiting', last ?? nothingRead);
  const first = isNew ? await tryFirst((scheduledAtMs) => here.runHere(input, scheduledAtMs)) : null;
  return await runToEnd(input, state, { first, restart: (read) => restartHistory<typeof syncRun>(input, read) });
}
