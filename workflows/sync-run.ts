/**
 * One run, from the queue of its lane to its final status.
 *
 * Crash safety: everything that matters is in PostgreSQL before this workflow is notified of it. The ledger holds each
 * complete page; the destination's checkpoint row holds the receipt of the last batch. This history holds ids and totals
 * only, and may be lost whole: the sweeper restarts the run from its row and the ledger.
 *
 * Duplicates: none at an SQL destination, because rows and receipt share one transaction and a newer attempt fences off the
 * older one. A page in flight at a kill is fetched again, never delivered again. A webhook gets the requests in flight at a
 * kill again, unchanged and under the same id: one, or the destination's `parallelism`.
 */
import { type ChunkResult, nothingRead, type RunTotals, type SyncRunInput, withFirstStep } from './contract.ts';
import { here } from './proxies.ts';
import { openState, restartHistory, runToEnd, tryFirst } from './run-to-end.ts';

/** `last` is what the run had read when its history was restarted, absent for a new run. */
export async function syncRun(input: SyncRunInput, last?: ChunkResult): Promise<RunTotals> {
  const isNew = input.steps === withFirstStep && last === undefined;
  const state = openState(isNew ? 'running' : 'waiting', last ?? nothingRead);
  const first = isNew ? await tryFirst((scheduledAtMs) => here.runHere(input, scheduledAtMs)) : null;
  return await runToEnd(input, state, { first, restart: (read) => restartHistory<typeof syncRun>(input, read) });
}
