import type * as real from '../../../db/queries/runs/attempts.ts';
import { takenOver } from '../../../src/core/errors.ts';
import { storableText } from '../../../src/core/json/storable-text.ts';
import { requeuedIn } from './records/requeue.ts';
import { type ControlState, keyOf, type StoredRun } from './store/control-state.ts';
import { memoryOf } from './store/memory-db.ts';

/** As in the real module, ms. */
const clockJumpMsMax = 2000;
const recheckMsMax = 24 * 3_600_000;

/** As the query of the same name. */
export const takeLane: typeof real.takeLane = (db, _scope, runId, options) =>
  memoryOf(db).transact('takeLane', (state) =>
    take(state, runId, { scheduledAtMs: options?.scheduledAtMs ?? state.nowMs(), isFirst: options?.isFirst ?? false }),
  );

function take(
  state: ControlState,
  runId: string,
  { scheduledAtMs, isFirst }: { readonly scheduledAtMs: number; readonly isFirst: boolean },
): real.Attempt | undefined {
  const run = state.runs.get(runId);
  const lane = run?.status === 'running' ? state.lanes.get(String(run.laneId)) : undefined;
  if (!run || !lane) return undefined;
  const isFree = lane.fence <= scheduledAtMs + clockJumpMsMax || lane.fence > state.nowMs() + clockJumpMsMax;
  if (!isFree) throw takenOver();
  const isKnown = lane.recordedSince !== null && lane.recordedSince > state.ago(recheckMsMax);
  const expired = isKnown ? {} : { recordedWith: null, recordedSince: null };
  const { fence } = state.lanes.update(lane, { fence: Math.max(lane.fence + 1, scheduledAtMs), ...expired });
  const taken = isFirst ? run : state.runs.update(run, { attempts: run.attempts + 1, progressedAt: state.now() });
  const { id: laneId, fence: fenceBefore, recordedWith, quick, lacksRecords, generation, meaning } = lane;
  const { connectionId, resourceKey } = taken;
  const hasRequeued = requeuedIn(state, { connectionId, resourceKey }).length > 0;
  return {
    laneId,
    fence,
    fenceBefore,
    quick,
    generation,
    meaning,
    recordedWith: isKnown ? recordedWith : null,
    hasRequeued,
    lacksRecords,
    begunWith: begunWith(state, taken),
    ...factsOf(taken),
  };
}

function begunWith(state: ControlState, run: StoredRun): real.BegunWith | null {
  const connection = state.connections.get(run.connectionId);
  const version = connection && state.specVersions.get(keyOf(connection.specId, run.specVersion ?? ''));
  const { specOverridesJson, paramsJson } = run;
  return version && paramsJson ? { specJson: version.specJson, specOverridesJson, paramsJson, sealed: null } : null;
}

type Facts = Omit<
  real.Attempt,
  | 'laneId'
  | 'fence'
  | 'fenceBefore'
  | 'generation'
  | 'recordedWith'
  | 'quick'
  | 'lacksRecords'
  | 'meaning'
  | 'hasRequeued'
  | 'begunWith'
>;

const factsOf = (run: Facts): Facts => ({
  connectionId: run.connectionId,
  resourceKey: run.resourceKey,
  startedAt: run.startedAt,
  cancelRequestedAt: run.cancelRequestedAt,
  attempts: run.attempts,
  batchNo: run.batchNo,
  pageNo: run.pageNo,
  position: run.position,
  readCompleted: run.readCompleted,
  watermarkBefore: run.watermarkBefore,
  recordsIn: run.recordsIn,
  invalid: run.invalid,
  seq: run.seq,
  backfill: run.backfill,
  errorCode: run.errorCode,
  errorMessage: run.errorMessage,
});

/** As the query of the same name. */
export const clearRecordedWith: typeof real.clearRecordedWith = (db, _scope, { laneId, fence }) =>
  memoryOf(db).transact('clearRecordedWith', (state) => {
    const lane = state.lanes.get(String(laneId));
    if (lane?.fence !== fence) return false;
    state.lanes.update(lane, { recordedWith: null, recordedSince: null });
    return true;
  });

/** As the query of the same name. */
export const resetAttempts: typeof real.resetAttempts = (db, _scope, runId) =>
  memoryOf(db).transact('resetAttempts', (state) => {
    const isRunning = ({ id, status }: StoredRun) => id === runId && status === 'running';
    state.runs.updateWhere(isRunning, { attempts: 0, errorCode: null, errorMessage: null });
  });

/** As the query of the same name. */
export const noteFailure: typeof real.noteFailure = (db, _scope, { runId, code, message }) =>
  memoryOf(db).transact('noteFailure', (state) => {
    const failure = { errorCode: code, errorMessage: storableText(message) };
    state.runs.updateWhere(({ id, status }) => id === runId && status === 'running', failure);
  });
