import { sql } from 'kysely';
import { newId } from '../../../src/core/ids.ts';
import type { LaneKey } from '../../../src/core/model/lane-key.ts';
import type { RunRow, RunTrigger } from '../../../src/core/resources/run.ts';
import type { Db } from '../../client.ts';
import type { Backfill } from '../../schema.ts';
import type { OrgScope } from '../../scope.ts';
import { type Placeholders, statement } from '../../statement.ts';
import { runColumns } from './run-columns.ts';

interface NewRun extends LaneKey {
  readonly trigger: RunTrigger;
  /** Runs of the connection that may run at once. */
  readonly concurrentMax: number;
  /** Keys of resources whose earlier runs, running or queued, are waited for. */
  readonly waitsFor: readonly string[];
  readonly backfill: Backfill | null;
  readonly scheduleId?: string;
  readonly scheduledFor?: string;
}

/**
 * Commit the row, then start its workflow: the sweeper starts one that is lost. If it cannot be started, call
 * {@link leaveToSweeper}.
 */
export async function insertRun(db: Db, scope: OrgScope, run: NewRun): Promise<RunRow> {
  const { waitsFor, backfill, scheduleId = null, scheduledFor = null } = run;
  const values = {
    ...run,
    ...{ id: newId('run'), orgId: scope.orgId, scheduleId, scheduledFor },
    waitsFor: [...waitsFor],
    backfill: backfill === null ? null : JSON.stringify(backfill),
  };
  const [inserted] = await insertInLane(db, values);
  if (inserted) return inserted;
  await makeLane(db, scope, run);
  const [first] = await insertInLane(db, values);
  if (!first) throw new Error(`No run of ${run.connectionId} was inserted`);
  return first;
}

interface RunValues extends Required<Omit<NewRun, 'waitsFor' | 'backfill' | 'scheduleId' | 'scheduledFor'>> {
  readonly id: string;
  readonly orgId: string;
  readonly waitsFor: string[];
  readonly backfill: string | null;
  readonly scheduleId: string | null;
  readonly scheduledFor: string | null;
}

/** Inserts nothing without a lane. */
const insertInLane = statement((db, run: Placeholders<RunValues>) =>
  db
    .insertInto('runs')
    .columns([
      ...(['id', 'orgId', 'connectionId', 'resourceKey', 'laneId', 'trigger', 'concurrentMax', 'waitsFor'] as const),
      ...(['backfill', 'scheduleId', 'scheduledFor', 'dispatchedAt'] as const),
    ])
    .expression(
      db
        .selectFrom('lanes')
        .select([
          run.id.as('id'),
          'lanes.orgId',
          'lanes.connectionId',
          'lanes.resourceKey',
          'lanes.id as laneId',
          run.trigger.as('trigger'),
          sql`${run.concurrentMax}::int`.as('concurrentMax'),
          sql`${run.waitsFor}::text[]`.as('waitsFor'),
          sql`${run.backfill}::jsonb`.as('backfill'),
          run.scheduleId.as('scheduleId'),
          sql`${run.scheduledFor}::timestamptz`.as('scheduledFor'),
          sql`now()`.as('dispatchedAt'),
        ])
        .where('lanes.orgId', '=', run.orgId)
        .where('lanes.connectionId', '=', run.connectionId)
        .where('lanes.resourceKey', '=', run.resourceKey),
    )
    .returning(runColumns),
);

async function makeLane(db: Db, { orgId }: OrgScope, { connectionId, resourceKey }: LaneKey): Promise<void> {
  await db
    .insertInto('lanes')
    .values({ orgId, connectionId, resourceKey })
    .onConflict((conflict) => conflict.columns(['orgId', 'connectionId', 'resourceKey']).doNothing())
    .execute();
}

export async function findRun(db: Db, scope: OrgScope, id: string): Promise<RunRow | undefined> {
  const [run] = await runById(db, { orgId: scope.orgId, id });
  return run;
}

/** Existing runs only, in any order. */
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

/**
 * A queued run of the resource that will read what is new: it is not a backfill and was not asked to stop. It is locked, so that
 * a cancellation waits and finds what has joined it.
 */
export async function findWaitingRun(
  db: Db,
  scope: OrgScope,
  { connectionId, resourceKey }: LaneKey,
): Promise<{ readonly id: string } | undefined> {
  const [run] = await waitingRun(db, { orgId: scope.orgId, connectionId, resourceKey });
  return run;
}

const waitingRun = statement(
  (db, { orgId, connectionId, resourceKey }: Placeholders<LaneKey & { readonly orgId: string }>) =>
    db
      .selectFrom('runs')
      .select('id')
      .where('orgId', '=', orgId)
      .where('connectionId', '=', connectionId)
      .where('resourceKey', '=', resourceKey)
      .where('status', '=', 'queued')
      .where('trigger', '<>', 'backfill')
      .where('cancelRequestedAt', 'is', null)
      .limit(1)
      .forNoKeyUpdate(),
);

export async function countLoginFailures(
  db: Db,
  scope: OrgScope,
  { connectionId, last }: { readonly connectionId: string; readonly last: number },
): Promise<number> {
  // Only among the newest: an index by the end would cost every run more than it is worth here.
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

export async function isClean(db: Db, scope: OrgScope, id: string): Promise<boolean> {
  const run = await db
    .selectFrom('runs')
    .select(['quarantined', 'incomplete'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirst();
  return run?.quarantined === 0 && !run.incomplete;
}

export async function readSoFar(
  db: Db,
  scope: OrgScope,
  id: string,
): Promise<{ readonly recordsIn: number; readonly recordsOut: number }> {
  return await db
    .selectFrom('runs')
    .select(['recordsIn', 'recordsOut'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
}

/**
 * Records that the last successful run of a lane before `seq` delivered: the rows of a table that each run replaces. `0` without
 * such a run since its records were last forgotten.
 */
export async function countReplaced(
  db: Db,
  scope: OrgScope,
  { laneId, seq }: { readonly laneId: number; readonly seq: number },
): Promise<number> {
  const run = await db
    .selectFrom('runs')
    .innerJoin('lanes', 'lanes.id', 'runs.laneId')
    .select('recordsOut')
    .where('runs.orgId', '=', scope.orgId)
    .where('laneId', '=', laneId)
    .where('status', '=', 'succeeded')
    .where('seq', '<', seq)
    // A run that found its list unchanged has left the table as it was.
    .where(sql<boolean>`not notes ? 'not_modified'`)
    .where((eb) => eb.or([eb('clearedRun', 'is', null), eb('seq', '>=', eb.ref('clearedRun'))]))
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return run?.recordsOut ?? 0;
}
