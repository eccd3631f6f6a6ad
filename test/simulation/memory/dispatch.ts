import type * as real from '../../../db/queries/runs/dispatch.ts';
import { memoryOf } from './store/memory-db.ts';

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
