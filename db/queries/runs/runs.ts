import { sql } from 'kysely';
import { newId } from '../../../src/core/ids.ts';
import type { RunRow, RunStatus, RunTrigger } from '../../../src/core/resources/run.ts';
import type { Db } from '../../client.ts';
import type { Backfill } from '../../schema.ts';
import type { OrgScope } from '../../scope.ts';
import { type Placeholders, statement } from '../../statement.ts';
import { runColumns } from './run-columns.ts';
import { recordRunEnds } from './run-events.ts';

interface NewRun {
  readonly connectionId: string;
  readonly resourceKey: string;
  readonly trigger: RunTrigger;
  /** Runs of the connection that may run at once. */
  readonly concurrentMax: number;
  /** Keys of resources whose runs, running or queued before, are waited for. */
  readonly waitsFor: readonly string[];
  /** Null: an ordinary run. */
  readonly backfill: Backfill | null;
  /** Its firing; absent: no schedule requested it. */
  readonly scheduleId?: string;
  readonly scheduledFor?: string;
  /** Whoever commits the row starts its workflow, or calls {@link leaveToSweeper}. */
  readonly isDispatched?: boolean;
}

/** A queued run at the end of its lane. The row is the outbox: commit it, then start its workflow. */
export async function insertRun(db: Db, scope: OrgScope, { isDispatched, ...run }: NewRun): Promise<RunRow> {
  const laneId = await ensureLane(db, scope, run);
  return db
    .insertInto('runs')
    .values({
      ...run,
      waitsFor: [...run.waitsFor],
      backfill: run.backfill === null ? null : JSON.stringify(run.backfill),
      id: newId('run'),
      orgId: scope.orgId,
      laneId,
      dispatchedAt: isDispatched ? sql<string>`now()` : null,
    })
    .returning(runColumns)
    .executeTakeFirstOrThrow();
}

/** The id of the lane of a connection and resource, made when it is not there yet. */
async function ensureLane(
  db: Db,
  scope: OrgScope,
  { connectionId, resourceKey }: { readonly connectionId: string; readonly resourceKey: string },
): Promise<number> {
  const key = { orgId: scope.orgId, connectionId, resourceKey };
  const [known] = await findLane(db, key);
  if (known) return known.id;
  await db
    .insertInto('lanes')
    .values(key)
    .onConflict((conflict) => conflict.columns(['orgId', 'connectionId', 'resourceKey']).doNothing())
    .execute();
  const [made] = await findLane(db, key);
  if (!made) throw new Error(`Lane of ${connectionId} was not made`);
  return made.id;
}

const findLane = statement(
  (db, key: Placeholders<{ readonly orgId: string; readonly connectionId: string; readonly resourceKey: string }>) =>
    db
      .selectFrom('lanes')
      .select('id')
      .where('orgId', '=', key.orgId)
      .where('connectionId', '=', key.connectionId)
      .where('resourceKey', '=', key.resourceKey),
);

/** The run, or undefined when it is absent or of another org. */
export async function findRun(db: Db, scope: OrgScope, id: string): Promise<RunRow | undefined> {
  const [run] = await runById(db, { orgId: scope.orgId, id });
  return run;
}

/** The runs that exist, in any order. */
export function findRuns(db: Db, scope: OrgScope, ids: readonly string[]): Promise<readonly RunRow[]> {
  return runsByIds(db, { orgId: scope.orgId, ids });
}

const runById = statement((db, { orgId, id }: Placeholders<{ readonly orgId: string; readonly id: string }>) =>
  db.selectFrom('runs').select(runColumns).where('orgId', '=', orgId).where('id', '=', id),
);
const runsByIds = statement(
  (db, { orgId, ids }: Placeholders<{ readonly orgId: string; readonly ids: readonly string[] }>) =>
    db
      .selectFrom('runs')
      .select(runColumns)
      .where('orgId', '=', orgId)
      .where('id', '=', sql<string>`any(${ids}::text[])`),
);

/** The run that a firing of a schedule has made; undefined: it made none. */
export function findRunOfFiring(
  db: Db,
  scope: OrgScope,
  { scheduleId, scheduledFor }: { readonly scheduleId: string; readonly scheduledFor: string },
): Promise<RunRow | undefined> {
  return db
    .selectFrom('runs')
    .select(runColumns)
    .where('orgId', '=', scope.orgId)
    .where('scheduleId', '=', scheduleId)
    .where('scheduledFor', '=', scheduledFor)
    .executeTakeFirst();
}

/** The firing that made a run; undefined: no schedule did, or there is no such run. */
export async function findFiring(
  db: Db,
  scope: OrgScope,
  id: string,
): Promise<{ readonly scheduleId: string; readonly scheduledFor: string } | undefined> {
  const run = await db
    .selectFrom('runs')
    .select(['scheduleId', 'scheduledFor'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirst();
  const { scheduleId = null, scheduledFor = null } = run ?? {};
  return scheduleId === null || scheduledFor === null ? undefined : { scheduleId, scheduledFor };
}

/** Whether somebody has asked a run to stop. */
export async function isCancelRequested(db: Db, scope: OrgScope, id: string): Promise<boolean> {
  const run = await db
    .selectFrom('runs')
    .select('cancelRequestedAt')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirst();
  return run !== undefined && run.cancelRequestedAt !== null;
}

/** Whether the last run of the resource that has begun did so at or after this time, and has not failed. */
export async function hasReadSince(
  db: Db,
  scope: OrgScope,
  {
    connectionId,
    resourceKey,
    since,
  }: { readonly connectionId: string; readonly resourceKey: string; readonly since: string },
): Promise<boolean> {
  const last = await db
    .selectFrom('lanes')
    .innerJoin('runs', 'runs.laneId', 'lanes.id')
    .select((eb) => [eb('runs.startedAt', '>=', since).as('isSince'), 'runs.status', 'runs.backfill'])
    .where('lanes.orgId', '=', scope.orgId)
    .where('lanes.connectionId', '=', connectionId)
    .where('lanes.resourceKey', '=', resourceKey)
    .where('runs.startedAt', 'is not', null)
    .orderBy('runs.seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (!last?.isSince || last.backfill !== null) return false;
  return last.status !== 'failed' && last.status !== 'canceled';
}

/** A run of the resource that waits and will read what is new: neither a backfill nor one that was asked to stop. */
export function findWaitingRun(
  db: Db,
  scope: OrgScope,
  { connectionId, resourceKey }: { readonly connectionId: string; readonly resourceKey: string },
): Promise<{ readonly id: string } | undefined> {
  return db
    .selectFrom('runs')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('resourceKey', '=', resourceKey)
    .where('status', '=', 'queued')
    .where('trigger', '<>', 'backfill')
    .where('cancelRequestedAt', 'is', null)
    .executeTakeFirst();
}

/** Notes that Temporal may not have the run: the sweeper starts it unless it has begun. */
export async function leaveToSweeper(db: Db, scope: OrgScope, id: string): Promise<void> {
  await db
    .updateTable('runs')
    .set({ dispatchedAt: null })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('status', '=', 'queued')
    .execute();
}

/** Notes that Temporal has taken the run; the sweeper leaves it alone from now on. */
export async function markDispatched(db: Db, scope: OrgScope, id: string): Promise<void> {
  await db
    .updateTable('runs')
    .set({ dispatchedAt: sql`now()` })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('dispatchedAt', 'is', null)
    .execute();
}

/**
 * Asks a run to stop, as part of a transaction. One that no workflow has taken yet is canceled at once; any other stops at
 * its next batch. Undefined when the run is absent, of another org, or already final.
 */
export async function requestCancel(tx: Db, scope: OrgScope, id: string): Promise<RunRow | undefined> {
  const run = await cancelOpen(tx, scope).where('id', '=', id).returning(runColumns).executeTakeFirst();
  await recordEndOf(tx, scope, run ? [run] : []);
  return run;
}

/** Asks every open run of a connection to stop, as {@link requestCancel} does. */
export async function requestCancelOfAll(tx: Db, scope: OrgScope, connectionId: string): Promise<RunRow[]> {
  const runs = await cancelOpen(tx, scope).where('connectionId', '=', connectionId).returning(runColumns).execute();
  await recordEndOf(tx, scope, runs);
  return runs;
}

/** Asks the running runs of some resources to stop, as {@link requestCancel} does; those that wait stay. */
export async function requestCancelOfRunning(
  tx: Db,
  scope: OrgScope,
  { connectionId, resourceKeys }: { readonly connectionId: string; readonly resourceKeys: readonly string[] },
): Promise<RunRow[]> {
  if (resourceKeys.length === 0) return [];
  return cancelOpen(tx, scope)
    .where('connectionId', '=', connectionId)
    .where('resourceKey', 'in', resourceKeys)
    .where('status', '=', 'running')
    .returning(runColumns)
    .execute();
}

/** Runs that wait for a workflow to stop them have not ended yet. */
async function recordEndOf(tx: Db, scope: OrgScope, asked: readonly RunRow[]): Promise<void> {
  const over = asked.filter(({ status }) => status === 'canceled');
  await recordRunEnds(
    tx,
    scope,
    over.map(({ id }) => id),
  );
}

function cancelOpen(db: Db, scope: OrgScope) {
  const untaken = sql<boolean>`status = 'queued' and dispatched_at is null`;
  return db
    .updateTable('runs')
    .set({
      cancelRequestedAt: sql`coalesce(cancel_requested_at, now())`,
      status: sql<RunStatus>`case when ${untaken} then 'canceled' else status end`,
      finishedAt: sql<string | null>`case when ${untaken} then now() end`,
    })
    .where('orgId', '=', scope.orgId)
    .where('status', 'in', ['queued', 'running']);
}

/** How many of the last ended runs of a connection failed at the destination's login. */
export async function countLoginFailures(
  db: Db,
  scope: OrgScope,
  { connectionId, last }: { readonly connectionId: string; readonly last: number },
): Promise<number> {
  // Among the newest alone: an index by the end would cost every run more than it is worth here.
  const newest = db
    .selectFrom('runs')
    .select(['errorCode', 'finishedAt'])
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('finishedAt', 'is not', null)
    .orderBy('id', 'desc')
    .limit(100 * last);
  const runs = await db
    .selectFrom(newest.as('newest'))
    .select('errorCode')
    .orderBy('finishedAt', 'desc')
    .limit(last)
    .execute();
  return runs.filter((run) => run.errorCode === 'destination_login').length;
}

/** Notes that the run's workflow was seen open: the reconciler checks it again only after a while. */
export async function markAlive(db: Db, scope: OrgScope, id: string): Promise<void> {
  await db
    .updateTable('runs')
    .set({ progressedAt: sql`now()` })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute();
}

/** Counts one more start of a run whose workflow was lost. False: it has been started `max` times again, or has ended. */
export async function countRestart(db: Db, scope: OrgScope, id: string, max: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('runs')
    .set((eb) => ({ restarts: eb('restarts', '+', 1), progressedAt: sql<string>`now()` }))
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('status', 'in', ['queued', 'running'])
    .where('restarts', '<', max)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Whether a run has quarantined no record and skipped nothing so far. */
export async function isClean(db: Db, scope: OrgScope, id: string): Promise<boolean> {
  const run = await db
    .selectFrom('runs')
    .select(['quarantined', 'incomplete'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirst();
  return run?.quarantined === 0 && !run.incomplete;
}
