import type * as real from '../../../db/queries/runs/cancel.ts';
import { ending } from './lanes/end-run.ts';
import type { ControlState, StoredRun } from './store/control-state.ts';
import { memoryOf } from './store/memory-db.ts';
import { runRow } from './store/run-row.ts';

/** As the query of the same name. */
export const isCancelRequested: typeof real.isCancelRequested = (db, _scope, id) =>
  memoryOf(db).transact('isCancelRequested', (state) => (state.runs.get(id)?.cancelRequestedAt ?? null) !== null);

/** As the query of the same name. */
export const requestCancel: typeof real.requestCancel = (db, _scope, id) =>
  memoryOf(db).transact('requestCancel', (state) => cancelOpenIn(state, (run) => run.id === id).map(runRow)[0]);

/** As the query of the same name. */
export const requestCancelOfAll: typeof real.requestCancelOfAll = (db, _scope, connectionId) =>
  memoryOf(db).transact('requestCancelOfAll', (state) =>
    cancelOpenIn(state, (run) => run.connectionId === connectionId && run.cancelRequestedAt === null).map(runRow),
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
