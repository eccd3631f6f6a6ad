import { newId } from '../../src/core/ids.ts';
import type { ConnectionRow, ConnectionStatus, JsonObject } from '../../src/core/rows.ts';
import type { Db } from '../client.ts';
import type { OrgScope } from '../scope.ts';

const columns = [
  'id',
  'orgId',
  'workspaceId',
  'specId',
  'pinnedSpecVersion',
  'displayName',
  'externalCustomerId',
  'status',
  'paramsJson',
  'specOverridesJson',
] as const;

/** The connection, or undefined when it is absent or of another org. */
export function findConnection(db: Db, scope: OrgScope, id: string): Promise<ConnectionRow | undefined> {
  return db
    .selectFrom('connections')
    .select(columns)
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Every connection of the org, newest first. */
export function listConnections(db: Db, scope: OrgScope): Promise<ConnectionRow[]> {
  return db.selectFrom('connections').select(columns).where('orgId', '=', scope.orgId).orderBy('id', 'desc').execute();
}

interface NewConnection {
  readonly id: string;
  readonly workspaceId: string;
  readonly specId: string;
  readonly pinnedSpecVersion: string;
  readonly displayName: string;
  readonly externalCustomerId: string | null;
  readonly params: JsonObject;
}

/** A connection in `pending`. Throws on a workspace or spec version of another org (foreign keys). */
export function insertConnection(db: Db, scope: OrgScope, connection: NewConnection): Promise<ConnectionRow> {
  const { params, ...rest } = connection;
  return db
    .insertInto('connections')
    .values({ ...rest, orgId: scope.orgId, status: 'pending', paramsJson: JSON.stringify(params) })
    .returning(columns)
    .executeTakeFirstOrThrow();
}

/** The connection in its new status, or undefined when it is absent or of another org. */
export function setConnectionStatus(
  db: Db,
  scope: OrgScope,
  { id, status }: { readonly id: string; readonly status: ConnectionStatus },
): Promise<ConnectionRow | undefined> {
  return db
    .updateTable('connections')
    .set({ status })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .returning(columns)
    .executeTakeFirst();
}

/** How many connections of the org are active. */
export async function countActiveConnections(db: Db, scope: OrgScope): Promise<number> {
  const { count } = await db
    .selectFrom('connections')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('orgId', '=', scope.orgId)
    .where('status', '=', 'active')
    .executeTakeFirstOrThrow();
  return count;
}

/** A fresh connection id; made before the row because secrets are sealed for it. */
export const newConnectionId = (): string => newId('con');
