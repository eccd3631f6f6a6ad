import type { BatchOwner } from '../../../../db/queries/runs/batches/batch-owner.ts';
import type * as real from '../../../../db/queries/runs/lanes/end-run.ts';
import { takenOver } from '../../../../src/core/errors.ts';
import { storableText } from '../../../../src/core/json/storable-text.ts';
import type { Receipt } from '../../../../src/core/model/receipt.ts';
import { holdsLaneIn } from '../batches/batch-owner.ts';
import { recordMain } from '../batches/batches.ts';
import { closePartitionsIn } from '../run-dimensions.ts';
import type { ControlState, StoredConnection, StoredRun } from '../store/control-state.ts';
import { memoryOf } from '../store/memory-db.ts';
import { runRow } from '../store/run-row.ts';
import { findNextRunsIn } from './turns.ts';

/** As the query of the same name; no event is recorded. */
export const endRun: typeof real.endRun = async (db, _scope, end) => {
  const memory = memoryOf(db);
  const made = await memory.transact('endRun', (state) => endIn(state, end));
  return { ...made, next: await memory.transact('findNextRuns', (state) => findNextRunsIn(state, end.runId)) };
};

function endIn(
  state: ControlState,
  { runId, outcome, owner, last, left, breaksConnection }: real.RunEnd,
): Omit<real.EndedRun, 'next'> {
  if (owner && !holdsLaneIn(state, owner)) throw takenOver();
  const open = state.runs.get(runId);
  if (!open) return { run: undefined, ended: false, eventsFor: 0 };
  if (open.status !== 'queued' && open.status !== 'running') return { run: runRow(open), ended: false, eventsFor: 0 };
  const { error } = outcome;
  const isRunning = open.status === 'running';
  const read = owner && last ? isRunning && recordLast(state, owner, last) : open;
  if (!read && isRunning) throw takenOver();
  if (!read) return { run: runRow(open), ended: false, eventsFor: 0 };
  state.runs.update(read, {
    status: statusOf(read, outcome),
    errorCode: error?.code ?? null,
    errorMessage: error === null ? null : storableText(error.message),
    ...ending(state),
  });
  closePartitionsIn(state, runId);
  const lane = owner && left ? state.lanes.get(String(owner.laneId)) : undefined;
  if (lane && left) state.lanes.update(lane, { ...left, recordedSince: lane.recordedSince ?? state.now() });
  const run = state.runs.get(runId) ?? open;
  if (breaksConnection && run.status === 'failed') breakConnection(state, run);
  return { run: runRow(run), ended: true, eventsFor: 0 };
}

/** The pages of a run of one batch are not put into the ledger. */
const recordLast = (state: ControlState, owner: BatchOwner, last: Receipt): StoredRun | null =>
  recordMain(state, owner, { receipt: last, applied: false }, last.batchNo > 1 ? last.pages : []).run;

function statusOf(run: StoredRun, { status }: real.RunOutcome): StoredRun['status'] {
  const failed = status === 'failed';
  const canceled = run.cancelRequestedAt !== null || status === 'canceled';
  if (canceled && (failed || !run.readCompleted)) return 'canceled';
  if (failed) return 'failed';
  return run.quarantined > 0 || run.incomplete || status === 'partial' ? 'partial' : 'succeeded';
}

function breakConnection(state: ControlState, run: StoredRun): void {
  const { connectionId, resourceKey, accessNo: known, errorCode, errorMessage } = run;
  const since = state.now();
  const error = { code: errorCode ?? '', message: errorMessage ?? '', resourceKey, since, nextTestAt: since };
  const broken = { status: 'error', errorSince: since, error, testAt: since } as const;
  const isMeant = ({ id, status, accessNo }: StoredConnection) =>
    id === connectionId && status === 'active' && (known === null || known === accessNo);
  state.connections.updateWhere(isMeant, broken);
}

/** What every end of a run sets. */
export const ending = (state: ControlState): Pick<StoredRun, 'finishedAt' | 'endedNo'> => ({
  finishedAt: state.now(),
  endedNo: state.nextNo(),
});
