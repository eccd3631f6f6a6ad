import type * as real from '../../../../db/queries/runs/lanes/lanes.ts';
import { takenOver } from '../../../../src/core/errors.ts';
import { storableText } from '../../../../src/core/json/storable-text.ts';
import { holdsLaneIn } from '../batches/batch-owner.ts';
import { recordMain } from '../batches/batches.ts';
import { closePartitionsIn } from '../run-dimensions.ts';
import type { ControlState, StoredRun } from '../store/control-state.ts';
import { laneWatermark } from '../store/lane-state.ts';
import { memoryOf } from '../store/memory-db.ts';
import { runRow } from '../store/run-row.ts';
import { resetLaneIn } from './lane-reset.ts';
import { rewindLaneIn } from './rewind.ts';
import { findNextRunsIn, noteReadyIn, runsInTurn } from './turns.ts';

/** As the query of the same name; no event is recorded. */
export const beginRun: typeof real.beginRun = async (db, _scope, runId, options) => {
  const attempt = () =>
    memoryOf(db).transact('beginRun', (state) => tryToBegin(state, runId, options?.onlyIfQuick ?? false));
  const tried = await attempt();
  const { isNewlyReady: _, ...begun } = tried.isNewlyReady ? await attempt() : tried;
  return begun;
};

interface BeginResult extends real.Begun {
  /** It waits, and was not marked as ready until now. */
  readonly isNewlyReady: boolean;
}

function tryToBegin(state: ControlState, runId: string, onlyIfQuick: boolean): BeginResult {
  const run = state.runs.get(runId);
  const isQuick = (run && state.lanes.get(String(run.laneId))?.quick) ?? false;
  const notBegun = { isQuick, isFirst: false, isNewlyReady: false, eventsFor: 0 };
  if (!run || (onlyIfQuick && !isQuick)) return { ...notBegun, turn: null };
  if (run.status !== 'queued') return { ...notBegun, turn: run.status };
  const connection = state.connections.get(run.connectionId);
  if (connection?.status !== 'active') {
    state.runs.update(run, { status: 'canceled', ...ending(state) });
    return { ...notBegun, turn: 'canceled' };
  }
  if (run.cancelRequestedAt === null && runsInTurn(state, runId).some(({ id }) => id === runId)) {
    const watermark = laneWatermark(state, run.laneId);
    state.runs.update(run, {
      status: 'running',
      startedAt: state.now(),
      progressedAt: state.now(),
      attempts: 1,
      dispatchedAt: run.dispatchedAt ?? state.now(),
      watermarkBefore: watermark,
      watermarkAfter: watermark,
      specVersion: connection.pinnedSpecVersion,
      specOverridesJson: connection.specOverridesJson,
      paramsJson: connection.paramsJson,
    });
    resetLaneIn(state, runId);
    if (run.backfill?.rewind) rewindLaneIn(state, { runId, to: run.backfill.from });
    return { ...notBegun, turn: 'running', isFirst: true };
  }
  const isReady = noteReadyIn(state, runId);
  return { ...notBegun, turn: 'waiting', isNewlyReady: isReady && run.readyAt === null };
}

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
  const read = owner && last ? isRunning && recordMain(state, owner, last).run : open;
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
  if (breaksConnection && run.status === 'failed') breakConnection(state, run.connectionId);
  return { run: runRow(run), ended: true, eventsFor: 0 };
}

function statusOf(run: StoredRun, { status }: real.RunOutcome): StoredRun['status'] {
  const failed = status === 'failed';
  const canceled = run.cancelRequestedAt !== null || status === 'canceled';
  if (canceled && (failed || !run.readCompleted)) return 'canceled';
  if (failed) return 'failed';
  return run.quarantined > 0 || run.incomplete || status === 'partial' ? 'partial' : 'succeeded';
}

function breakConnection(state: ControlState, connectionId: string): void {
  const broken = { status: 'error', errorSince: state.now() } as const;
  state.connections.updateWhere(({ id, status }) => id === connectionId && status === 'active', broken);
}

/** What every end of a run sets. */
export const ending = (state: ControlState): Pick<StoredRun, 'finishedAt' | 'endedNo'> => ({
  finishedAt: state.now(),
  endedNo: state.nextNo(),
});
