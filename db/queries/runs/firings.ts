import type { RunRow } from '../../../src/core/resources/run.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { type Placeholders, statement } from '../../statement.ts';
import { runColumns } from './run-columns.ts';

/** One firing of a schedule; the time is ISO. */
interface Firing {
  readonly scheduleId: string;
  readonly scheduledFor: string;
}

/** A run, and what else the address of its workflow has. */
export interface AddressedRun {
  readonly id: string;
  readonly connectionId: string;
  readonly resourceKey: string;
  /** The firing; both null: no schedule created it. */
  readonly scheduleId: string | null;
  readonly scheduledFor: string | null;
}

interface OfResource {
  readonly connectionId: string;
  readonly resourceKey: string;
}

interface InOrg {
  readonly orgId: string;
}

/** The run that a firing of a schedule has created; undefined: it created none. */
export async function findRunOfFiring(
  db: Db,
  scope: OrgScope,
  { scheduleId, scheduledFor }: Firing,
): Promise<RunRow | undefined> {
  const [run] = await runOfFiring(db, { orgId: scope.orgId, scheduleId, scheduledFor });
  return run;
}

const runOfFiring = statement((db, { orgId, scheduleId, scheduledFor }: Placeholders<InOrg & Firing>) =>
  db
    .selectFrom('runs')
    .select(runColumns)
    .where('orgId', '=', orgId)
    .where('scheduleId', '=', scheduleId)
    .where('scheduledFor', '=', scheduledFor),
);

/** The firing that created a run; undefined: no schedule did, or there is no such run. */
export async function findFiring(db: Db, scope: OrgScope, id: string): Promise<Firing | undefined> {
  const run = await db
    .selectFrom('runs')
    .select(['scheduleId', 'scheduledFor'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirst();
  const { scheduleId = null, scheduledFor = null } = run ?? {};
  return scheduleId === null || scheduledFor === null ? undefined : { scheduleId, scheduledFor };
}

/** Whether the last run of the resource that has begun did so at or after this time, and has not failed. */
export async function hasReadSince(
  db: Db,
  scope: OrgScope,
  { connectionId, resourceKey, since }: OfResource & { readonly since: string },
): Promise<boolean> {
  const [last] = await lastBegun(db, { orgId: scope.orgId, connectionId, resourceKey, since });
  if (!last?.isSince || last.backfill !== null) return false;
  return last.status !== 'failed' && last.status !== 'canceled';
}

const lastBegun = statement(
  (db, { orgId, connectionId, resourceKey, since }: Placeholders<InOrg & OfResource & { readonly since: string }>) =>
    db
      .selectFrom('lanes')
      .innerJoin('runs', 'runs.laneId', 'lanes.id')
      .select((eb) => [eb('runs.startedAt', '>=', since).as('isSince'), 'runs.status', 'runs.backfill'])
      .where('lanes.orgId', '=', orgId)
      .where('lanes.connectionId', '=', connectionId)
      .where('lanes.resourceKey', '=', resourceKey)
      .where('runs.startedAt', 'is not', null)
      .orderBy('runs.seq', 'desc')
      .limit(1),
);
