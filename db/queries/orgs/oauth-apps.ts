import { type RawBuilder, sql } from 'kysely';
import type { SealedSecret } from '../../../src/core/crypto/secret-box.ts';
import type { OauthAppRow } from '../../../src/core/resources/oauth-app.ts';
import type { Db } from '../../client.ts';
import { type Listing, openNewestFirst } from '../../listing.ts';
import type { OrgScope } from '../../scope.ts';
import { testedAtOnce } from '../connections/retests.ts';
import { sealedColumns, sealedOf } from '../connections/sealed-columns.ts';

const columns = [
  'id',
  'key',
  'workspaceKind',
  'clientId',
  sql<boolean>`ciphertext is not null`.as('hasSecret'),
  'createdAt',
  'updatedAt',
] as const;

const ofOrg = (db: Db, { orgId }: OrgScope) => db.selectFrom('oauthApps').where('orgId', '=', orgId);

export function findOauthApp(db: Db, scope: OrgScope, id: string): Promise<OauthAppRow | undefined> {
  return ofOrg(db, scope).select(columns).where('id', '=', id).executeTakeFirst();
}

/** No other transaction changes or deletes it until this one ends. */
export function lockOauthApp(tx: Db, scope: OrgScope, id: string): Promise<OauthAppRow | undefined> {
  return ofOrg(tx, scope).select(columns).where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
}

export function listOauthApps(db: Db, scope: OrgScope): Promise<Listing<OauthAppRow>> {
  return openNewestFirst(ofOrg(db, scope).select(columns));
}

/** The apps of a key and kind of workspace; `null` finds the one for all kinds. */
export function findOauthAppByKey(
  db: Db,
  scope: OrgScope,
  { key, workspaceKind }: Pick<OauthAppRow, 'key' | 'workspaceKind'>,
): Promise<OauthAppRow | undefined> {
  return ofOrg(db, scope)
    .select(columns)
    .where('key', '=', key)
    .where('workspaceKind', 'is not distinct from', workspaceKind)
    .executeTakeFirst();
}

export interface NewOauthApp extends Pick<OauthAppRow, 'id' | 'key' | 'workspaceKind' | 'clientId'> {
  /** `null` for a public client. */
  readonly sealed: SealedSecret | null;
}

/** `undefined` if the org has an app of that key and kind. */
export function insertOauthApp(
  tx: Db,
  scope: OrgScope,
  { sealed, ...app }: NewOauthApp,
): Promise<OauthAppRow | undefined> {
  return tx
    .insertInto('oauthApps')
    .values({ ...app, orgId: scope.orgId, ...(sealed && sealedColumns(sealed)) })
    .onConflict((conflict) => conflict.doNothing())
    .returning(columns)
    .executeTakeFirst();
}

const noSecret = { kekId: null, wrappedKey: null, nonce: null, ciphertext: null };

/** Changes an app that {@link lockOauthApp} found; without `sealed` its secret stays. */
export function changeOauthApp(
  tx: Db,
  scope: OrgScope,
  { id, clientId, sealed }: Pick<OauthAppRow, 'id' | 'clientId'> & { readonly sealed: SealedSecret | null | undefined },
): Promise<OauthAppRow> {
  return tx
    .updateTable('oauthApps')
    .set({
      clientId,
      ...(sealed === undefined ? {} : sealed === null ? noSecret : sealedColumns(sealed)),
      updatedAt: sql<string>`now()`,
    })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .returning(columns)
    .executeTakeFirstOrThrow();
}

export async function deleteOauthApp(tx: Db, scope: OrgScope, id: string): Promise<void> {
  await tx.deleteFrom('oauthApps').where('orgId', '=', scope.orgId).where('id', '=', id).execute();
}

export interface StoredClientApp extends Pick<OauthAppRow, 'id' | 'clientId'> {
  readonly sealed: SealedSecret | null;
}

/** The app of a connection: that of the kind of its workspace, otherwise the one for all kinds. */
export async function findAppOfConnection(
  db: Db,
  scope: OrgScope,
  { connectionId, key }: { readonly connectionId: string; readonly key: string },
): Promise<StoredClientApp | undefined> {
  const row = await db
    .selectFrom('connections')
    .innerJoin('workspaces', 'workspaces.id', 'connections.workspaceId')
    .innerJoin('oauthApps', (join) => join.onRef('oauthApps.orgId', '=', 'connections.orgId'))
    .select(['oauthApps.id', 'clientId', 'kekId', 'wrappedKey', 'nonce', 'ciphertext'])
    .where('connections.orgId', '=', scope.orgId)
    .where('workspaces.orgId', '=', scope.orgId)
    .where('oauthApps.orgId', '=', scope.orgId)
    .where('connections.id', '=', connectionId)
    .where('oauthApps.key', '=', key)
    .where((eb) => eb.or([eb('workspaceKind', 'is', null), eb('workspaceKind', '=', eb.ref('workspaces.kind'))]))
    .orderBy('workspaceKind', (order) => order.asc().nullsLast())
    .limit(1)
    .executeTakeFirst();
  return row && { id: row.id, clientId: row.clientId, sealed: sealedOf(row) };
}

/** Connections for which the app is, or would be, the one that their current spec names. */
const users = (
  { orgId }: OrgScope,
  { key, workspaceKind }: Pick<OauthAppRow, 'key' | 'workspaceKind'>,
): RawBuilder<unknown> => sql`
  connections where connections.org_id = ${orgId} and deleted_at is null and oauth_apps <> '{}'
    and ${key} = any(oauth_apps)
    and exists (
      select from workspaces where workspaces.org_id = ${orgId} and workspaces.id = workspace_id
        and case when ${workspaceKind}::text is not null then workspaces.kind = ${workspaceKind} else not exists (
          select from oauth_apps own
          where own.org_id = ${orgId} and own.key = ${key} and own.workspace_kind = workspaces.kind) end)`;

export interface AppUse {
  readonly connections: number;
  /** Those with tokens. */
  readonly authorized: number;
}

export async function countUse(
  db: Db,
  scope: OrgScope,
  app: Pick<OauthAppRow, 'key' | 'workspaceKind'>,
): Promise<AppUse> {
  const { rows } = await sql<AppUse>`
    select count(*)::int as connections, count(*) filter (where exists (
      select from tokens where tokens.org_id = ${scope.orgId} and tokens.connection_id = connections.id
        and ciphertext is not null))::int as authorized
    from ${users(scope, app)}`.execute(db);
  return rows[0] ?? { connections: 0, authorized: 0 };
}

/** The client has changed: its connections in error are tested at once, unless another transaction holds them. */
export async function retestUsers(
  tx: Db,
  scope: OrgScope,
  app: Pick<OauthAppRow, 'key' | 'workspaceKind'>,
): Promise<void> {
  await tx
    .updateTable('connections')
    .set({ accessNo: sql<number>`access_no + 1`, ...testedAtOnce })
    .where('orgId', '=', scope.orgId)
    .where(
      'id',
      'in',
      sql<string>`(select id from ${users(scope, app)} and status = 'error' order by id for no key update skip locked)`,
    )
    .execute();
}
