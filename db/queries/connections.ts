import { newId } from '../../src/core/ids.ts';
import type { ConnectionRow, ConnectionStatus, JsonObject } from '../../src/core/rows.ts';
import type { Db } from '../client.ts';
import { countRows, type Listing, openListing } from '../listing.ts';
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
export function listConnections(db: Db, scope: OrgScope): Promise<Listing<ConnectionRow>> {
  const ofOrg = db.selectFrom('connections').where('orgId', '=', scope.orgId);
  return openListing({
    batch(last, limit) {
      const query = ofOrg.select(columns).orderBy('id', 'desc').limit(limit);
      return (last ? query.where('id', '<', last.id) : query).execute();
    },
    count: () => countRows(ofOrg),
  });
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
export const countActiveConnections = (db: Db, scope: OrgScope): Promise<number> =>
  countRows(db.selectFrom('connections').where('orgId', '=', scope.orgId).where('status', '=', 'active'));

/**
 * The cap on active connections of the org; null: none. Holds the org's row until the transaction ends, so that
 * whoever counts against the cap does so alone.
 */
export async function lockActiveConnectionsMax(db: Db, scope: OrgScope): Promise<number | null> {
  const org = await db
    .selectFrom('orgs')
    .select('activeConnectionsMax')
    .where('id', '=', scope.orgId)
    .forUpdate()
    .executeTakeFirstOrThrow();
  return org.activeConnectionsMax;
}

/** A fresh connection id; made before the row because secrets are sealed for it. */
export const newConnectionId = (): string => newId('con');
