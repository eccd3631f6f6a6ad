import type * as real from '../../../db/queries/runs/runs.ts';
import type { ControlState, StoredRun } from './store/control-state.ts';
import { memoryOf } from './store/memory-db.ts';
import { runRow } from './store/run-row.ts';
import { stored } from './store/stored-json.ts';

type NewRun = Parameters<typeof real.insertRun>[2];

/** As the query of the same name. */
export const insertRun: typeof real.insertRun = (db, { orgId }, run) =>
  memoryOf(db).transact('insertRun', (state) => runRow(state.runs.insert(newRun(state, orgId, run))));

function newRun(state: ControlState, orgId: string, run: NewRun): StoredRun {
  const { connectionId, resourceKey, trigger, concurrentMax, waitsFor, backfill } = run;
  if (!state.connections.get(connectionId)) throw new Error(`There is no connection ${connectionId}`);
  return {
    ...{ connectionId, resourceKey, trigger, concurrentMax, waitsFor: [...waitsFor], backfill: stored(backfill) },
    id: state.newId('run'),
    orgId,
    laneId: laneOf(state, orgId, { connectionId, resourceKey }),
    seq: state.nextNo(),
    scheduleId: run.scheduleId ?? null,
    scheduledFor: run.scheduledFor ?? null,
    createdAt: state.now(),
    ...untouched,
    dispatchedAt: state.now(),
  };
}

const untouchedLane = {
  recordedWith: null,
  recordedSince: null,
  quick: false,
  lacksRecords: false,
  generation: '',
  clearedRun: null,
} as const;

const untouched = {
  status: 'queued',
  readyAt: null,
  startedAt: null,
  finishedAt: null,
  endedNo: null,
  cancelRequestedAt: null,
  progressedAt: null,
  specVersion: null,
  specOverridesJson: null,
  paramsJson: null,
  accessNo: null,
  attempts: 0,
  restarts: 0,
  batchNo: 0,
  appliedNo: 0,
  pageNo: 0,
  position: null,
  readCompleted: false,
  readsBefore: false,
  incomplete: false,
  notes: {},
  recordsIn: 0,
  recordsOut: 0,
  skipped: 0,
  deleted: 0,
  quarantined: 0,
  invalid: 0,
  watermarkBefore: null,
  watermarkAfter: null,
  errorCode: null,
  errorMessage: null,
} as const;

function laneOf(state: ControlState, orgId: string, key: Pick<StoredRun, 'connectionId' | 'resourceKey'>): number {
  const [known] = state.lanes.where(
    ({ connectionId, resourceKey }) => connectionId === key.connectionId && resourceKey === key.resourceKey,
  );
  return (known ?? state.lanes.insert({ ...key, orgId, id: state.nextNo(), fence: 0, meaning: null, ...untouchedLane }))
    .id;
}

/** As the query of the same name. */
export const findRun: typeof real.findRun = (db, _scope, id) =>
  memoryOf(db).transact('findRun', (state) => {
    const run = state.runs.get(id);
    return run && runRow(run);
  });

/** As the query of the same name. */
export const findRuns: typeof real.findRuns = (db, _scope, ids) =>
  memoryOf(db).transact('findRuns', (state) => state.runs.where(({ id }) => ids.includes(id)).map(runRow));

/** As the query of the same name. */
export const findWaitingRun: typeof real.findWaitingRun = (db, _scope, { connectionId, resourceKey }) =>
  memoryOf(db).transact('findWaitingRun', (state) => {
    const [run] = state.runs.where(
      (row) =>
        row.connectionId === connectionId &&
        row.resourceKey === resourceKey &&
        row.status === 'queued' &&
        row.trigger !== 'backfill' &&
        row.cancelRequestedAt === null,
    );
    return run && { id: run.id };
  });

/** As the query of the same name. */
export const countLoginFailures: typeof real.countLoginFailures = (db, _scope, { connectionId, last }) =>
  memoryOf(db).transact('countLoginFailures', (state) => {
    const ended = state.runs.where((run) => run.connectionId === connectionId && run.finishedAt !== null);
    const newest = ended.toSorted((a, b) => (b.endedNo ?? 0) - (a.endedNo ?? 0)).slice(0, last);
    return newest.filter(({ errorCode }) => errorCode === 'destination_login').length;
  });

/** As the query of the same name. */
export const isClean: typeof real.isClean = (db, _scope, id) =>
  memoryOf(db).transact('isClean', (state) => {
    const run = state.runs.get(id);
    return run?.quarantined === 0 && !run.incomplete;
  });

/** As the query of the same name. */
export const readSoFar: typeof real.readSoFar = (db, _scope, id) =>
  memoryOf(db).transact('readSoFar', (state) => {
    const run = state.runs.get(id);
    if (!run) throw new Error('no result');
    return { recordsIn: run.recordsIn, recordsOut: run.recordsOut };
  });

/** As the query of the same name. */
export const countReplaced: typeof real.countReplaced = (db, _scope, { laneId, seq }) =>
  memoryOf(db).transact('countReplaced', (state) => {
    const clearedRun = state.lanes.get(String(laneId))?.clearedRun ?? 0;
    const runs = state.runs.where(
      (run) =>
        run.laneId === laneId &&
        run.status === 'succeeded' &&
        run.seq < seq &&
        run.seq >= clearedRun &&
        !('not_modified' in run.notes),
    );
    return runs.toSorted((a, b) => b.seq - a.seq)[0]?.recordsOut ?? 0;
  });
