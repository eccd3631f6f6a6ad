/** What the API does to connections: each is one transaction of src/control, without events and schedules. */
import type { Db } from '../../../../db/client.ts';
import type { OrgScope } from '../../../../db/scope.ts';
import { notFound } from '../../../../src/core/errors.ts';
import type { JsonObject } from '../../../../src/core/json/json-object.ts';
import type { ConnectionRow } from '../../../../src/core/resources/connection.ts';
import type { RunRow } from '../../../../src/core/resources/run.ts';
import type { SpecUpgrade } from '../../../../src/core/resources/spec.ts';
import { cancelOpenIn, cancelRunningIn } from '../cancel.ts';
import { connectionRow } from '../connections.ts';
import type { ControlState, StoredConnection } from './control-state.ts';
import { memoryOf } from './memory-db.ts';
import { runRow } from './run-row.ts';

const noError = { errorSince: null, error: null, testAt: null, tests: 0, recoveredAt: null } as const;

/** As `testedAtOnce` of the real module. */
function testedAtOnce(state: ControlState, { status, error }: StoredConnection): Partial<StoredConnection> {
  if (status !== 'error') return { error: null, testAt: null };
  const now = state.now();
  return { error: error && { ...error, nextTestAt: now }, testAt: now, tests: 0 };
}

/** A connection that changed, and its runs that were asked to stop: notify the workflows of those that have not ended. */
export interface Changed {
  readonly connection: ConnectionRow;
  readonly stopped: readonly RunRow[];
}

/** Sets a connection active, from any status. Throws not_found. */
export const activateConnection = (db: Db, _scope: OrgScope, id: string): Promise<ConnectionRow> =>
  memoryOf(db).transact('activateConnection', (state) => {
    const connection = found(state, id);
    if (connection.status === 'active') return connectionRow(connection);
    const change = { status: 'active', ...noError, accessNo: connection.accessNo + 1 } as const;
    return connectionRow(state.connections.update(connection, change));
  });

/** Gives a connection other params; runs keep those with which they began. Throws not_found. */
export const changeParams = (db: Db, _scope: OrgScope, id: string, paramsJson: JsonObject): Promise<ConnectionRow> =>
  memoryOf(db).transact('changeParams', (state) => {
    const connection = found(state, id);
    const change = { paramsJson, accessNo: connection.accessNo + 1, ...testedAtOnce(state, connection) };
    return connectionRow(state.connections.update(connection, change));
  });

/** Sets a connection paused, from any status, and asks its open runs to stop. Throws not_found. */
export const pauseConnection = (db: Db, _scope: OrgScope, id: string): Promise<Changed> =>
  memoryOf(db).transact('pauseConnection', (state) => {
    const connection = state.connections.update(found(state, id), { status: 'paused', ...noError });
    const stopped = cancelOpenIn(state, (run) => run.connectionId === id);
    return { connection: connectionRow(connection), stopped: stopped.map(runRow) };
  });

/**
 * Pins a connection to another version of its spec. Running runs of
 * lanes that the plan resets are asked to stop. Throws not_found.
 *
 * @param plan of `planUpgrade`, without issues.
 */
export const upgradeConnection = (
  db: Db,
  _scope: OrgScope,
  { id, version, plan }: { readonly id: string; readonly version: string; readonly plan: SpecUpgrade['plan'] },
): Promise<Changed> =>
  memoryOf(db).transact('upgradeConnection', (state) => {
    const before = found(state, id);
    const change = { pinnedSpecVersion: version, accessNo: before.accessNo + 1, ...testedAtOnce(state, before) };
    const connection = state.connections.update(before, change);
    const touched = plan.resources.filter((resource) => resource.class !== 'compatible');
    const resourceKeys = touched.map(({ resourceKey }) => resourceKey);
    const stopped = cancelRunningIn(state, { connectionId: id, resourceKeys });
    return { connection: connectionRow(connection), stopped: stopped.map(runRow) };
  });

function found(state: ControlState, id: string): StoredConnection {
  const connection = state.connections.get(id);
  if (!connection || connection.deletedAt !== null) throw notFound('Connection');
  return connection;
}
