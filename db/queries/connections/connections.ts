import { type NotNull, type RawBuilder, sql } from 'kysely';
import { newId } from '../../../src/core/ids.ts';
import type { JsonObject } from '../../../src/core/json/json-object.ts';
import type { ConnectedAccount, ConnectionRow, ConnectionStatus } from '../../../src/core/resources/connection.ts';
import type { Health } from '../../../src/core/resources/freshness.ts';
import type { Db } from '../../client.ts';
import { countRows, type Listing, openNewestFirst } from '../../listing.ts';
import { newestPage, type Page, type PageRequest } from '../../page.ts';
import type { OrgScope } from '../../scope.ts';
import { type Placeholders, statement } from '../../statement.ts';
import { hasHealth } from './health.ts';
import { noErrorColumns, testedAtOnce } from './retests.ts';

const columns = [
  'id',
  'orgId',
  'workspaceId',
  'specId',
  'pinnedSpecVersion',
  'displayName',
  'externalCustomerId',
  'status',
  'error',
  'errorAfterMinutes',
  'paramsJson',
  'specOverridesJson',
  'accounts',
] as const;

/** `undefined` if absent, deleted or of another org. */
export async function findConnection(db: Db, scope: OrgScope, id: string): Promise<ConnectionRow | undefined> {
  const [connection] = await connectionById(db, { orgId: scope.orgId, id });
  return connection;
}

export interface PinnedConnection extends ConnectionRow {
  readonly specJson: JsonObject;
}

export async function findPinnedConnection(db: Db, scope: OrgScope, id: string): Promise<PinnedConnection | undefined> {
  const [connection] = await pinnedConnectionById(db, { orgId: scope.orgId, id });
  return connection;
}

/** Existing connections only, in any order. */
export function findConnections(db: Db, scope: OrgScope, ids: readonly string[]): Promise<readonly ConnectionRow[]> {
  return connectionsByIds(db, { orgId: scope.orgId, ids });
}

/** Finds and locks a connection: no other transaction changes or deletes it until this one ends. */
export async function lockConnection(tx: Db, scope: OrgScope, id: string): Promise<ConnectionRow | undefined> {
  const [connection] = await lockedConnectionById(tx, { orgId: scope.orgId, id });
  return connection;
}

/** Locks the org first, as every transaction that lets a run begin, and the schedule last, so that it stays unchanged. */
export async function lockConnectionOfSchedule(
  tx: Db,
  scope: OrgScope,
  scheduleId: string,
): Promise<ConnectionRow | undefined> {
  const [connection] = await lockedConnectionOfSchedule(tx, { orgId: scope.orgId, id: scheduleId });
  return connection;
}

type ById = Placeholders<{ readonly orgId: string; readonly id: string }>;

const existing = (db: Db, { orgId }: OrgScope | Pick<ById, 'orgId'>) =>
  db.selectFrom('connections').where('orgId', '=', orgId).where('deletedAt', 'is', null);
const updateExisting = (db: Db, { orgId }: OrgScope) =>
  db.updateTable('connections').where('orgId', '=', orgId).where('deletedAt', 'is', null);

const selectById = (db: Db, { orgId, id }: ById) => existing(db, { orgId }).select(columns).where('id', '=', id);

const connectionById = statement(selectById);
const pinnedConnectionById = statement((db, values: ById) =>
  selectById(db, values)
    .select((eb) =>
      eb
        .selectFrom('specVersions')
        .select('specVersions.specJson')
        .whereRef('specVersions.specId', '=', 'connections.specId')
        .whereRef('specVersions.version', '=', 'connections.pinnedSpecVersion')
        .as('specJson'),
    )
    .$narrowType<{ specJson: NotNull }>(),
);
const connectionsByIds = statement(
  (db, { orgId, ids }: Placeholders<{ readonly orgId: string; readonly ids: readonly string[] }>) =>
    existing(db, { orgId }).select(columns).where('id', '=', sql<string>`any(${ids}::text[])`),
);
const lockedConnectionById = statement((tx, values: ById) => selectById(tx, values).forNoKeyUpdate());
const lockedConnectionOfSchedule = statement((tx, { orgId, id }: ById) =>
  tx
    .selectFrom('orgs')
    .innerJoin('connections', 'connections.orgId', 'orgs.id')
    .innerJoin('schedules', 'schedules.connectionId', 'connections.id')
    .select(columns.map((column) => `connections.${column}` as const))
    .where('orgs.id', '=', orgId)
    .where('connections.deletedAt', 'is', null)
    .where('schedules.orgId', '=', orgId)
    .where('schedules.id', '=', id)
    .forNoKeyUpdate(['orgs', 'connections'])
    .forShare('schedules'),
);

export function listConnections(db: Db, scope: OrgScope): Promise<Listing<ConnectionRow>> {
  const storedBytes = sql<number>`pg_column_size(params_json) + coalesce(pg_column_size(spec_overrides_json), 0)`;
  return openNewestFirst(existing(db, scope).select(columns), { storedBytes });
}

/** A connection as a list names it: without its params, which can be large. */
export type ConnectionName = Omit<
  ConnectionRow,
  'orgId' | 'error' | 'errorAfterMinutes' | 'paramsJson' | 'specOverridesJson' | 'accounts'
> & {
  readonly specKey: string;
};

export interface ConnectionFilter {
  readonly status?: ConnectionStatus | undefined;
  /** As {@link isNamed}. */
  readonly text?: string | undefined;
  /** Paused ones are left out, as where they are counted, unless the status asks for them. */
  readonly health?: Health | undefined;
  /** The key of the spec. */
  readonly spec?: string | undefined;
}

/** Whether a row of `connections` has the text as part of its name, or as the whole id of its customer; in any case. */
export const isNamed = (text: string): RawBuilder<boolean> => {
  const words = text.toLowerCase();
  return sql<boolean>`(position(${words} in lower(connections.display_name)) > 0
    or lower(connections.external_customer_id) = ${words})`;
};

export function findConnectionsPage(
  db: Db,
  scope: OrgScope,
  { status, text, health, spec }: ConnectionFilter,
  request: PageRequest,
): Promise<Page<ConnectionName>> {
  let ofOrg = existing(db, scope);
  if (status !== undefined) ofOrg = ofOrg.where('status', '=', status);
  if (text !== undefined) ofOrg = ofOrg.where(isNamed(text));
  if (health !== undefined) {
    ofOrg = ofOrg.where(hasHealth(scope, health));
    if (status === undefined) ofOrg = ofOrg.where('status', '!=', 'paused');
  }
  if (spec !== undefined) {
    ofOrg = ofOrg.where('specId', 'in', (eb) =>
      eb.selectFrom('specs').select('id').where('orgId', '=', scope.orgId).where('key', '=', spec),
    );
  }
  const specKey = sql<string>`(select key from specs where specs.id = connections.spec_id)`.as('specKey');
  const named = [
    'id',
    'workspaceId',
    'specId',
    'pinnedSpecVersion',
    'displayName',
    'externalCustomerId',
    'status',
  ] as const;
  return newestPage(ofOrg.select([...named, specKey]), request);
}

export async function findConnectionNames(
  db: Db,
  scope: OrgScope,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await existing(db, scope)
    .select(['id', 'displayName'])
    .where('id', '=', sql<string>`any(${[...new Set(ids)]}::text[])`)
    .execute();
  return new Map(rows.map(({ id, displayName }) => [id, displayName]));
}

interface NewConnection {
  readonly id: string;
  readonly workspaceId: string;
  readonly specId: string;
  readonly pinnedSpecVersion: string;
  readonly displayName: string;
  readonly externalCustomerId: string | null;
  readonly errorAfterMinutes: number;
  readonly specOverrides?: JsonObject | null;
  readonly params: JsonObject;
  /** Keys of the OAuth apps that its spec names. */
  readonly oauthApps: readonly string[];
}

/** Throws on a workspace or spec version of another org (foreign keys). */
export function insertConnection(db: Db, scope: OrgScope, connection: NewConnection): Promise<ConnectionRow> {
  const { params, specOverrides = null, oauthApps, ...rest } = connection;
  return db
    .insertInto('connections')
    .values({
      ...rest,
      orgId: scope.orgId,
      status: 'pending',
      paramsJson: JSON.stringify(params),
      specOverridesJson: specOverrides === null ? null : JSON.stringify(specOverrides),
      oauthApps: [...oauthApps],
    })
    .returning(columns)
    .executeTakeFirstOrThrow();
}

export function setConnectionStatus(
  db: Db,
  scope: OrgScope,
  { id, status }: { readonly id: string; readonly status: Exclude<ConnectionStatus, 'error'> },
): Promise<ConnectionRow | undefined> {
  return updateExisting(db, scope)
    .set({
      status,
      ...noErrorColumns,
      ...(status === 'active' && { accessNo: nextAccess }),
    })
    .where('id', '=', id)
    .returning(columns)
    .executeTakeFirst();
}

const nextAccess = sql<number>`access_no + 1`;

/** Runs sign in with other credentials from now on: failures with the previous ones no longer count. */
export async function noteNewAccess(tx: Db, scope: OrgScope, id: string): Promise<void> {
  await updateExisting(tx, scope)
    .set({ accessNo: nextAccess, ...testedAtOnce })
    .where('id', '=', id)
    .execute();
}

export async function putAccounts(
  tx: Db,
  scope: OrgScope,
  { id, accounts }: { readonly id: string; readonly accounts: readonly ConnectedAccount[] },
): Promise<void> {
  await updateExisting(tx, scope)
    .set({ accounts: JSON.stringify(accounts) })
    .where('id', '=', id)
    .execute();
}

/** `null` if the connection is not in error, or the time is unknown. */
export async function findErrorSince(db: Db, scope: OrgScope, id: string): Promise<string | null> {
  const connection = await db
    .selectFrom('connections')
    .select('errorSince')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirst();
  return connection?.errorSince ?? null;
}

export interface ConnectionChange {
  readonly displayName?: string | undefined;
  readonly externalCustomerId?: string | null | undefined;
  readonly errorAfterMinutes?: number | undefined;
  readonly pinnedSpecVersion?: string | undefined;
  readonly params?: JsonObject | undefined;
  readonly specOverrides?: JsonObject | null | undefined;
  /** Of the effective spec after the change. */
  readonly oauthApps?: readonly string[] | undefined;
}

/** Changes a connection that {@link lockConnection} found in this transaction. */
export function changeConnection(
  tx: Db,
  scope: OrgScope,
  { id, ...change }: ConnectionChange & { readonly id: string },
): Promise<ConnectionRow> {
  const { displayName, externalCustomerId, errorAfterMinutes, pinnedSpecVersion, params, specOverrides, oauthApps } =
    change;
  return tx
    .updateTable('connections')
    .set((eb) => ({
      displayName: displayName ?? eb.ref('displayName'),
      externalCustomerId: externalCustomerId === undefined ? eb.ref('externalCustomerId') : externalCustomerId,
      errorAfterMinutes: errorAfterMinutes ?? eb.ref('errorAfterMinutes'),
      pinnedSpecVersion: pinnedSpecVersion ?? eb.ref('pinnedSpecVersion'),
      ...(oauthApps === undefined ? {} : { oauthApps: [...oauthApps] }),
      ...(params === undefined ? {} : { paramsJson: JSON.stringify(params), accessNo: nextAccess }),
      ...(specOverrides === undefined
        ? {}
        : { specOverridesJson: specOverrides === null ? null : JSON.stringify(specOverrides) }),
      ...(pinnedSpecVersion !== undefined || params !== undefined || specOverrides !== undefined ? testedAtOnce : {}),
    }))
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .returning(columns)
    .executeTakeFirstOrThrow();
}

/** Marks a connection as deleted, so that it reads as absent and none of its runs begins. */
export async function markConnectionDeleted(tx: Db, scope: OrgScope, id: string): Promise<boolean> {
  const marked = await updateExisting(tx, scope)
    .set({ deletedAt: sql`now()`, status: 'paused', ...noErrorColumns })
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst();
  return marked !== undefined;
}

export const countActiveConnections = (db: Db, scope: OrgScope): Promise<number> =>
  countRows(db.selectFrom('connections').where('orgId', '=', scope.orgId).where('status', '=', 'active'));

/**
 * `null` for no cap. Locks the org's row, so that transactions count against the cap one after the other. Rows of the org may
 * still be inserted: such a transaction may hold the connection that is locked next.
 */
export async function lockActiveConnectionsMax(db: Db, scope: OrgScope): Promise<number | null> {
  const org = await db
    .selectFrom('orgs')
    .select('activeConnectionsMax')
    .where('id', '=', scope.orgId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
  return org.activeConnectionsMax;
}

/** A fresh id, made before the row because secrets are sealed for it. */
export const newConnectionId = (): string => newId('con');
