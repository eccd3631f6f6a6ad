/** Queries for an operator after the control database was restored from a backup. */
import type { LaneKey } from '../../../../src/core/model/lane-key.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { type SweptRun, sweptColumns } from './sweep.ts';

/** A lane that has had a run. */
export interface UsedLane extends LaneKey {
  readonly id: number;
  readonly orgId: string;
}

export function findOpenRuns(db: Db): Promise<SweptRun[]> {
  return db
    .selectFrom('runs')
    .select(sweptColumns)
    .where('status', 'in', ['queued', 'running'])
    .where('dispatchedAt', 'is not', null)
    .orderBy('createdAt')
    .execute();
}

export function findUsedLanes(
  db: Db,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<UsedLane[]> {
  return db
    .selectFrom('lanes')
    .innerJoin('connections', 'connections.id', 'lanes.connectionId')
    .select(['lanes.id', 'lanes.orgId', 'lanes.connectionId', 'lanes.resourceKey'])
    .where('connections.deletedAt', 'is', null)
    .where('lanes.fence', '>', 0)
    .where('lanes.id', '>', after)
    .orderBy('lanes.id')
    .limit(limit)
    .execute();
}

/** Lets the next run of a lane ask its destination for records that are not known here. */
export async function noteLacking(db: Db, scope: OrgScope, laneId: number): Promise<void> {
  await db
    .updateTable('lanes')
    .set({ lacksRecords: true, recordedWith: null, recordedSince: null })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', laneId)
    .execute();
}

export async function findLastBatch(db: Db, scope: OrgScope, runId: string): Promise<number | undefined> {
  const run = await db
    .selectFrom('runs')
    .select('batchNo')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .executeTakeFirst();
  return run?.batchNo;
}
