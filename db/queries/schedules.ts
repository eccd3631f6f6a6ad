import { type SqlBool, sql } from 'kysely';
import { newId } from '../../src/core/ids.ts';
import type { ConnectionStatus } from '../../src/core/resources/connection.ts';
import type { ScheduleRow } from '../../src/core/resources/schedule.ts';
import type { Db } from '../client.ts';
import { type Listing, openNewestFirst } from '../listing.ts';
import type { OrgScope } from '../scope.ts';
import { type Placeholders, statement } from '../statement.ts';

const columns = ['id', 'connectionId', 'resourceKey', 'cron', 'timezone', 'enabled'] as const;

/** Outdates Temporal's schedule: for 2 s the request has the time to update it, then the sweeper does. */
const changed = {
  version: sql<number>`schedules.version + 1`,
  applyAt: sql<string>`now() + interval '2 seconds'`,
};

/** Nothing is overdue before the schedule has had the time to fire again. */
const firesAgain = { firesSince: sql<string>`now()` };

/** The caller has locked the connection in this transaction (`lockConnection`). */
export function insertSchedule(
  tx: Db,
  scope: OrgScope,
  schedule: Pick<ScheduleRow, 'connectionId' | 'resourceKey' | 'cron' | 'timezone'> & {
    readonly longestGapSeconds: number;
  },
): Promise<ScheduleRow> {
  return tx
    .insertInto('schedules')
    .values({ ...schedule, id: newId('sched'), orgId: scope.orgId, applyAt: changed.applyAt })
    .returning(columns)
    .executeTakeFirstOrThrow();
}

/** `undefined` if absent, deleted or of another org. */
export async function findSchedule(db: Db, scope: OrgScope, id: string): Promise<ScheduleRow | undefined> {
  const [schedule] = await scheduleById(db, { orgId: scope.orgId, id });
  return schedule;
}

/** Finds and locks a schedule: no other transaction changes or deletes it until this one ends. */
export async function lockSchedule(tx: Db, scope: OrgScope, id: string): Promise<ScheduleRow | undefined> {
  const [schedule] = await lockedScheduleById(tx, { orgId: scope.orgId, id });
  return schedule;
}

type ById = Placeholders<{ readonly orgId: string; readonly id: string }>;

const existing = (db: Db, { orgId }: OrgScope | Pick<ById, 'orgId'>) =>
  db.selectFrom('schedules').where('orgId', '=', orgId).where('deletedAt', 'is', null);
const updateExisting = (db: Db, { orgId }: OrgScope) =>
  db.updateTable('schedules').where('orgId', '=', orgId).where('deletedAt', 'is', null);
const updateExistingOf = (db: Db, scope: OrgScope, connectionId: string) =>
  updateExisting(db, scope).where('connectionId', '=', connectionId);

const selectById = (db: Db, { orgId, id }: ById) => existing(db, { orgId }).select(columns).where('id', '=', id);

const scheduleById = statement(selectById);
const lockedScheduleById = statement((tx, values: ById) => selectById(tx, values).forNoKeyUpdate());

export function listSchedules(db: Db, scope: OrgScope, connectionId: string): Promise<Listing<ScheduleRow>> {
  return openNewestFirst(existing(db, scope).select(columns).where('connectionId', '=', connectionId));
}

export function setScheduleEnabled(
  db: Db,
  scope: OrgScope,
  { id, enabled }: Pick<ScheduleRow, 'id' | 'enabled'>,
): Promise<ScheduleRow | undefined> {
  return updateExisting(db, scope)
    .set({
      ...changed,
      enabled,
      ...(enabled && { firesSince: sql<string>`case when enabled then fires_since else now() end` }),
    })
    .where('id', '=', id)
    .returning(columns)
    .executeTakeFirst();
}

/** Marks a schedule as deleted, so that it reads as absent. */
export function markScheduleDeleted(db: Db, scope: OrgScope, id: string): Promise<ScheduleRow | undefined> {
  return updateExisting(db, scope)
    .set({ ...changed, deletedAt: sql`now()` })
    .where('id', '=', id)
    .returning(columns)
    .executeTakeFirst();
}

export function markSchedulesDeleted(tx: Db, scope: OrgScope, connectionId: string): Promise<ScheduleRow[]> {
  return updateExistingOf(tx, scope, connectionId)
    .set({ ...changed, deletedAt: sql`now()` })
    .returning(columns)
    .execute();
}

/**
 * Call it with every change of a connection's status: its schedules fire only while it is active. `resumes`: until now they were
 * not meant to fire, so nothing is overdue yet.
 */
export async function noteStatusChange(
  tx: Db,
  scope: OrgScope,
  { connectionId, resumes = false }: { readonly connectionId: string; readonly resumes?: boolean },
): Promise<void> {
  await updateExistingOf(tx, scope, connectionId)
    .set({ ...changed, ...(resumes && firesAgain) })
    .execute();
}

export function disableSchedulesExcept(
  tx: Db,
  scope: OrgScope,
  { connectionId, resourceKeys }: { readonly connectionId: string; readonly resourceKeys: readonly string[] },
): Promise<ScheduleRow[]> {
  return updateExistingOf(tx, scope, connectionId)
    .set({ ...changed, enabled: false })
    .where('enabled', '=', true)
    .where(sql<SqlBool>`resource_key <> all(${resourceKeys})`)
    .returning(columns)
    .execute();
}

export interface ScheduleState extends ScheduleRow {
  readonly version: number;
  readonly deletedAt: string | null;
  readonly connectionStatus: ConnectionStatus;
}

/** Also finds a deleted schedule. */
export function findScheduleState(db: Db, scope: OrgScope, id: string): Promise<ScheduleState | undefined> {
  return db
    .selectFrom('schedules')
    .innerJoin('connections', 'connections.id', 'schedules.connectionId')
    .select([
      'schedules.id',
      'schedules.connectionId',
      'schedules.resourceKey',
      'schedules.cron',
      'schedules.timezone',
      'schedules.enabled',
      'schedules.version',
      'schedules.deletedAt',
      'connections.status as connectionStatus',
    ])
    .where('schedules.orgId', '=', scope.orgId)
    .where('schedules.id', '=', id)
    .executeTakeFirst();
}

/** `false` if the version is no longer the newest. */
export async function markApplied(
  db: Db,
  scope: OrgScope,
  { id, version }: Pick<ScheduleState, 'id' | 'version'>,
): Promise<boolean> {
  const marked = await db
    .updateTable('schedules')
    .set({ appliedVersion: version })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('version', '=', version)
    .returning('id')
    .executeTakeFirst();
  return marked !== undefined;
}

export async function findNotApplied(
  db: Db,
  scope: OrgScope,
  { connectionId, limit }: { readonly connectionId: string; readonly limit: number },
): Promise<readonly string[]> {
  const schedules = await db
    .selectFrom('schedules')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .whereRef('appliedVersion', '<', 'version')
    .limit(limit)
    .execute();
  return schedules.map(({ id }) => id);
}

/** Delays the sweeper's next try, so that this schedule does not keep others from their turn. */
export async function postponeApplying(db: Db, scope: OrgScope, id: string): Promise<void> {
  await db
    .updateTable('schedules')
    .set({ applyAt: sql`now() + interval '30 seconds'` })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute();
}

/** Lets the sweeper apply schedules again, no matter what was applied before. */
export async function applyAgain(db: Db, scope: OrgScope, ids: readonly string[]): Promise<void> {
  await db
    .updateTable('schedules')
    .set({ version: changed.version, applyAt: sql`now()` })
    .where('orgId', '=', scope.orgId)
    .where(sql<SqlBool>`id = any(${ids})`)
    .execute();
}

export interface MissedFirings {
  readonly schedule: ScheduleRow;
  readonly missed: number;
  readonly notedAt: string;
}

/** `count` is the number of firings that Temporal has dropped since it made its schedule; `null` if it has none. */
export async function noteMissedFirings(
  tx: Db,
  scope: OrgScope,
  { id, count }: { readonly id: string; readonly count: number | null },
): Promise<MissedFirings | undefined> {
  const before = await existing(tx, scope)
    .select([...columns, 'missedFirings'])
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!before) return undefined;
  const { missedFirings: told, ...schedule } = before;
  const total = count ?? told;
  const { notedAt } = await tx
    .updateTable('schedules')
    .set({ missedFirings: total, missedSeenAt: sql<string>`now()` })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .returning('missedSeenAt as notedAt')
    .executeTakeFirstOrThrow();
  // A schedule that Temporal lost and got again counts from 0.
  return { schedule, missed: total < told ? total : total - told, notedAt };
}
