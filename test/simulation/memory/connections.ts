import type * as real from '../../../db/queries/connections/connections.ts';
import type { ConnectionRow } from '../../../src/core/resources/connection.ts';
import type { StoredConnection } from './store/control-state.ts';
import { memoryOf } from './store/memory-db.ts';

/** As the query of the same name. */
export const findConnection: typeof real.findConnection = (db, _scope, id) =>
  memoryOf(db).transact('findConnection', (state) => {
    const connection = state.connections.get(id);
    return connection && connection.deletedAt === null ? connectionRow(connection) : undefined;
  });

/** A connection as the API shows it. */
export function connectionRow(connection: StoredConnection): ConnectionRow {
  const { id, orgId, workspaceId, specId, pinnedSpecVersion, displayName, externalCustomerId } = connection;
  const { status, error, errorAfterMinutes, paramsJson, specOverridesJson, accounts } = connection;
  const named = { id, orgId, workspaceId, specId, pinnedSpecVersion, displayName, externalCustomerId };
  return { ...named, status, error, errorAfterMinutes, paramsJson, specOverridesJson, accounts };
}
