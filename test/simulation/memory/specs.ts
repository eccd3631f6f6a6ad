import type * as real from '../../../db/queries/specs.ts';
import { keyOf } from './store/control-state.ts';
import { memoryOf } from './store/memory-db.ts';

/** As the query of the same name. */
export const findPinnedSpec: typeof real.findPinnedSpec = (db, _scope, connectionId) =>
  memoryOf(db).transact('findPinnedSpec', (state) => {
    const connection = state.connections.get(connectionId);
    const pinned = connection && state.specVersions.get(keyOf(connection.specId, connection.pinnedSpecVersion));
    if (!pinned) return undefined;
    const { createdAt: _createdAt, orgId: _orgId, ...row } = pinned;
    return row;
  });
