import type * as real from '../../../db/queries/runs/lookup-cache.ts';
import { keyOf, type StoredRun } from './store/control-state.ts';
import { memoryOf } from './store/memory-db.ts';

/** As the query of the same name. */
export const findLookupValues: typeof real.findLookupValues = (db, _scope, { connectionId, runId, keys }) =>
  memoryOf(db).transact('findLookupValues', (state) =>
    [...new Set(keys)].flatMap((key) => {
      const found = state.lookups.get(keyOf(connectionId, runId ?? '', key));
      return found && found.expiresAt > state.now() ? [{ key, value: found.value }] : [];
    }),
  );

/** As the query of the same name. */
export const putSharedValues: typeof real.putSharedValues = async (db, scope, shared) => {
  const isStopped = (run: StoredRun | undefined) => run !== undefined && run.cancelRequestedAt !== null;
  const isKept = await memoryOf(db).transact('putSharedValues', (state) => !isStopped(state.runs.get(shared.loadedBy)));
  if (isKept) await putLookupValues(db, scope, shared);
};

/** As the query of the same name. */
export const putLookupValues: typeof real.putLookupValues = (db, { orgId }, { connectionId, runId, values }) =>
  memoryOf(db).transact('putLookupValues', (state) => {
    if (new Set(values.map(({ key }) => key)).size < values.length) throw new Error('A key is there twice');
    for (const { key, value, ttlSeconds } of values) {
      const expiresAt = state.ago(-ttlSeconds * 1000);
      state.lookups.put({ orgId, connectionId, runId: runId ?? '', key, value, expiresAt });
    }
  });

/** As the query of the same name. */
export const dropLookupValues: typeof real.dropLookupValues = (db, _scope, { connectionId, runId }) =>
  memoryOf(db).transact('dropLookupValues', (state) => {
    state.lookups.deleteWhere((row) => row.connectionId === connectionId && row.runId === runId);
  });
