import { type NotNull, sql } from 'kysely';
import { newId } from '../../../src/core/ids.ts';
import type { JsonObject } from '../../../src/core/json/json-object.ts';
import type { ConnectedAccount, ConnectionRow, ConnectionStatus } from '../../../src/core/resources/connection.ts';
import type { Db } from '../../client.ts';
import { countRows, type Listing, openNewestFirst } from '../../listing.ts';
import { newestPage, type Page, type PageRequest } from '../../page.ts';
import type { OrgScope } from '../../scope.ts';
import { type Placeholders, statement } from '../../statement.ts';
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

/** The connection, or undefined when it is absent, deleted or of another org. */
export async function findConnection(db: Db, scope: OrgScope, id: string): Promise<ConnectionRow | undefined> {
  const [connection] = await connectionById(db, { orgId: scope.orgId, id });
  return connection;
}

/** A connection, with the spec that it is pinned to. */
export interface PinnedConnection extends ConnectionRow {
  readonly specJson: JsonObject;
}

/** Finds a connection as {@link findConnection} does, with its spec. */
export async function findPinnedConnection(db: Db, scope: OrgScope, id: string): Promise<PinnedConnection | undefined> {
  const [connection] = await pinnedConnectionById(db, { orgId: scope.orgId, id });
  return connection;
}

/** The connections that exist, in any order. */
export function findConnections(db: Db, scope: OrgScope, ids: readonly string[]): Promise<readonly ConnectionRow[]> {
  return connectionsByIds(db, { orgId: scope.orgId, ids });
}

/**
 * Finds and locks a connection, as {@link findConnection} finds it; until the transaction ends nobody else changes or
 * deletes it.
 */
export async function lockConnection(tx: Db, scope: OrgScope, id: string): Promise<ConnectionRow | undefined> {
  const [connection] = await lockedConnectionById(tx, { orgId: scope.orgId, id });
  return connection;
}

/**
 * Finds and locks the connection of a schedule, as {@link lockConnection} does. It locks the org first, as every
 * transaction that lets a run begin, and the schedule last, so that it does not change until the transaction ends.
 */
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

/** Every connection of the org, newest first. */
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

/** Filters of a list of connections; an absent one does not restrict. */
export interface ConnectionFilter {
  readonly status?: ConnectionStatus | undefined;
  /** A part of the name, or the whole id of the end customer, in any case. */
  readonly text?: string | undefined;
}

/** A page of the connections of the org. */
export function findConnectionsPage(
  db: Db,
  scope: OrgScope,
  { status, text }: ConnectionFilter,
  request: PageRequest,
): Promise<Page<ConnectionName>> {
  let ofOrg = existing(db, scope);
  if (status !== undefined) ofOrg = ofOrg.where('status', '=', status);
  if (text !== undefined) {
    const words = text.toLowerCase();
    ofOrg = ofOrg.where(
      sql<boolean>`(position(${words} in lower(display_name)) > 0 or lower(external_customer_id) = ${words})`,
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

/** The names of connections by id; those that are absent, deleted or of another org are missing. */
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

/** The connection in its new status, or undefined when it is absent, deleted or of another org. */
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

/** Notes that runs sign in with something else from now on: what fails with what was before says nothing of it. */
export async function noteNewAccess(tx: Db, scope: OrgScope, id: string): Promise<void> {
  await updateExisting(tx, scope)
    .set({ accessNo: nextAccess, ...testedAtOnce })
    .where('id', '=', id)
    .execute();
}

/** Says whose grants a connection has from now on. */
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

/** When the connection went to `error`; null: it is not in error, or the time is unknown. */
export async function findErrorSince(db: Db, scope: OrgScope, id: string): Promise<string | null> {
  const connection = await db
    .selectFrom('connections')
    .select('errorSince')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirst();
  return connection?.errorSince ?? null;
}

/** The fields of a connection that may change; absent: unchanged. */
export interface ConnectionChange {
  readonly displayName?: string | undefined;
  readonly externalCustomerId?: string | null | undefined;
  readonly errorAfterMinutes?: number | undefined;
  readonly pinnedSpecVersion?: string | undefined;
  readonly params?: JsonObject | undefined;
  readonly specOverrides?: JsonObject | null | undefined;
}

/** Changes a connection that {@link lockConnection} found in this transaction. */
export function changeConnection(
  tx: Db,
  scope: OrgScope,
  { id, ...change }: ConnectionChange & { readonly id: string },
): Promise<ConnectionRow> {
  const { displayName, externalCustomerId, errorAfterMinutes, pinnedSpecVersion, params, specOverrides } = change;
  return tx
    .updateTable('connections')
    .set((eb) => ({
      displayName: displayName ?? eb.ref('displayName'),
      externalCustomerId: externalCustomerId === undefined ? eb.ref('externalCustomerId') : externalCustomerId,
      errorAfterMinutes: errorAfterMinutes ?? eb.ref('errorAfterMinutes'),
      pinnedSpecVersion: pinnedSpecVersion ?? eb.ref('pinnedSpecVersion'),
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

/**
 * Marks a connection as deleted, so that it reads as absent and none of its runs begins. False: it was absent, deleted
 * or of another org.
 */
export async function markConnectionDeleted(tx: Db, scope: OrgScope, id: string): Promise<boolean> {
  const marked = await updateExisting(tx, scope)
    .set({ deletedAt: sql`now()`, status: 'paused', ...noErrorColumns })
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst();
  return marked !== undefined;
}

/** How many connections of the org are active. */
export const countActiveConnections = (db: Db, scope: OrgScope): Promise<number> =>
  countRows(db.selectFrom('connections').where('orgId', '=', scope.orgId).where('status', '=', 'active'));

/**
 * The cap on active connections of the org; null: none. Holds the org's row until the transaction ends, so that
 * whoever counts against the cap does so alone. Rows of the org may be inserted meanwhile: whoever inserts one may hold the
 * connection that is locked next.
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

/** A fresh connection id; made before the row because secrets are sealed for it. */
export const newConnectionId = (): string => newId('con');
