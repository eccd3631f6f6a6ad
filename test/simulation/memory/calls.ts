import type * as real from '../../../db/queries/runs/calls.ts';
import { memoryOf } from './store/memory-db.ts';
import { stored } from './store/stored-json.ts';

/** As the query of the same name. */
export const insertCalls: typeof real.insertCalls = async (db, { orgId }, calls) => {
  if (calls.length === 0) return;
  await memoryOf(db).transact('insertCalls', (state) => {
    for (const call of calls) {
      if (!state.runs.get(call.runId)) throw new Error(`There is no run ${call.runId}`);
      state.calls.insert({ ...stored(call), orgId, id: state.newId('call'), createdAt: state.now() });
    }
  });
};

/** As the query of the same name. */
export const lastCallSequence: typeof real.lastCallSequence = (db, _scope, id) =>
  memoryOf(db).transact('lastCallSequence', (state) =>
    state.calls.where(({ runId }) => runId === id).reduce((last, { sequence }) => Math.max(last, sequence), 0),
  );
