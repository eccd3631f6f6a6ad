import type * as real from '../../../db/queries/runs/runs.ts';
import { ending } from './lanes.ts';
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
    dispatchedAt: run.isDispatched ? state.now() : null,
  };
}

const untouchedLane = { settledWith: null, settledAt: null, quick: false } as const;

const untouched = {
  status: 'queued',
  dispatchedAt: null,
  readyAt: null,
  startedAt: null,
  finishedAt: null,
  endedNo: null,
  cancelRequestedAt: null,
  progressedAt: null,
  specVersion: null,
  specOverridesJson: null,
  paramsJson: null,
  attempts: 0,
  restarts: 0,
  batchNo: 0,
  pageNo: 0,
  position: null,
  readCompleted: false,
  incomplete: false,
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
  return (known ?? state.lanes.insert({ ...key, orgId, id: state.nextNo(), fence: 0, reset: null, ...untouchedLane }))
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
export const isCancelRequested: typeof real.isCancelRequested = (db, _scope, id) =>
  memoryOf(db).transact('isCancelRequested', (state) => (state.runs.get(id)?.cancelRequestedAt ?? null) !== null);

/** As the query of the same name. */
export const leaveToSweeper: typeof real.leaveToSweeper = (db, _scope, id) =>
  memoryOf(db).transact('leaveToSweeper', (state) => {
    state.runs.updateWhere((run) => run.id === id && run.status === 'queued', { dispatchedAt: null });
  });

/** As the query of the same name. */
export const markDispatched: typeof real.markDispatched = (db, _scope, id) =>
  memoryOf(db).transact('markDispatched', (state) => {
    const change = { dispatchedAt: state.now() };
    state.runs.updateWhere((run) => run.id === id && run.dispatchedAt === null, change);
  });

/** As the query of the same name. */
export const requestCancel: typeof real.requestCancel = (db, _scope, id) =>
  memoryOf(db).transact('requestCancel', (state) => cancelOpenIn(state, (run) => run.id === id).map(runRow)[0]);

/** As the query of the same name. */
export const requestCancelOfAll: typeof real.requestCancelOfAll = (db, _scope, connectionId) =>
  memoryOf(db).transact('requestCancelOfAll', (state) =>
    cancelOpenIn(state, (run) => run.connectionId === connectionId).map(runRow),
  );

/** As the query of the same name. */
export const requestCancelOfRunning: typeof real.requestCancelOfRunning = (db, _scope, asked) =>
  memoryOf(db).transact('requestCancelOfRunning', (state) => cancelRunningIn(state, asked).map(runRow));

/** Asks the running runs of some resources to stop, as a part of a transaction. */
export const cancelRunningIn = (
  state: ControlState,
  { connectionId, resourceKeys }: { readonly connectionId: string; readonly resourceKeys: readonly string[] },
): StoredRun[] =>
  cancelOpenIn(
    state,
    (run) => run.status === 'running' && run.connectionId === connectionId && resourceKeys.includes(run.resourceKey),
  );

/** Asks open runs to stop, as a part of a transaction: those that no workflow has taken are canceled at once. */
export const cancelOpenIn = (state: ControlState, isAsked: (run: StoredRun) => boolean): StoredRun[] =>
  state.runs
    .where((run) => (run.status === 'queued' || run.status === 'running') && isAsked(run))
    .map((run) =>
      state.runs.update(run, {
        cancelRequestedAt: run.cancelRequestedAt ?? state.now(),
        ...(run.status === 'queued' && run.dispatchedAt === null ? { status: 'canceled', ...ending(state) } : {}),
      }),
    );

/** As the query of the same name. */
export const countLoginFailures: typeof real.countLoginFailures = (db, _scope, { connectionId, last }) =>
  memoryOf(db).transact('countLoginFailures', (state) => {
    const ended = state.runs.where((run) => run.connectionId === connectionId && run.finishedAt !== null);
    const newest = ended.toSorted((a, b) => (b.endedNo ?? 0) - (a.endedNo ?? 0)).slice(0, last);
    return newest.filter(({ errorCode }) => errorCode === 'destination_login').length;
  });

/** As the query of the same name. */
export const markAlive: typeof real.markAlive = (db, _scope, id) =>
  memoryOf(db).transact('markAlive', (state) => {
    state.runs.updateWhere((run) => run.id === id, { progressedAt: state.now() });
  });

/** As the query of the same name. */
export const countRestart: typeof real.countRestart = (db, _scope, id, max) =>
  memoryOf(db).transact('countRestart', (state) => {
    const run = state.runs.get(id);
    if (!run || (run.status !== 'queued' && run.status !== 'running') || run.restarts >= max) return false;
    state.runs.update(run, { restarts: run.restarts + 1, progressedAt: state.now() });
    return true;
  });

/** As the query of the same name. */
export const isClean: typeof real.isClean = (db, _scope, id) =>
  memoryOf(db).transact('isClean', (state) => {
    const run = state.runs.get(id);
    return run?.quarantined === 0 && !run.incomplete;
  });
