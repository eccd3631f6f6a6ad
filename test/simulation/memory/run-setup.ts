import type * as real from '../../../db/queries/runs/run-setup.ts';
import { keyOf } from './store/control-state.ts';
import { memoryOf } from './store/memory-db.ts';

/** As the query of the same name. */
export const findBegunWith: typeof real.findBegunWith = (db, _scope, { runId }) =>
  memoryOf(db).transact('findBegunWith', (state) => {
    const run = state.runs.get(runId);
    const connection = run && state.connections.get(run.connectionId);
    const version = connection && state.specVersions.get(keyOf(connection.specId, run.specVersion ?? ''));
    if (!version || !run.paramsJson) return undefined;
    const { specOverridesJson, paramsJson } = run;
    return { specJson: version.specJson, specOverridesJson, paramsJson, sealed: null };
  });
