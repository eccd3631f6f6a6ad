import { sql } from 'kysely';
import type { LaneKey } from '../../../../src/core/model/lane-key.ts';
import type { Reset } from '../../../../src/core/spec/connection/upgrade-plan.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { passOverEndedRuns } from '../batches/batches.ts';
import { deleteRecordStates } from './forget-lane.ts';
import { newGeneration } from './new-generation.ts';

/**
 * Notes what the next run of a resource has to forget. Now is too early: a run in progress still records batches.
 * A resource that has never run has nothing to forget.
 */
export async function requestReset(tx: Db, scope: OrgScope, lane: LaneKey & { readonly reset: Reset }): Promise<void> {
  await tx
    .updateTable('lanes')
    // The larger reset contains the smaller.
    .set({ reset: sql<string>`case when reset = 'state' then reset else ${lane.reset} end` })
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', lane.connectionId)
    .where('resourceKey', '=', lane.resourceKey)
    .execute();
}

/**
 * Does what {@link requestReset} requested, in the transaction in which a run begins: no other run of the lane is
 * running.
 */
export async function resetLane(tx: Db, scope: OrgScope, runId: string): Promise<void> {
  const lane = await tx
    .selectFrom('lanes')
    .innerJoin('runs', 'runs.laneId', 'lanes.id')
    .select(['lanes.id', 'lanes.reset'])
    .where('runs.orgId', '=', scope.orgId)
    .where('runs.id', '=', runId)
    .where('lanes.reset', 'is not', null)
    .forNoKeyUpdate('lanes')
    .executeTakeFirst();
  if (!lane) return;
  await tx
    .updateTable('lanes')
    .set({
      ...{ reset: null, recordedWith: null, recordedSince: null },
      ...(lane.reset === 'state' && { generation: newGeneration }),
    })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', lane.id)
    .execute();
  await tx.deleteFrom('partitions').where('orgId', '=', scope.orgId).where('laneId', '=', lane.id).execute();
  if (lane.reset === 'state') await deleteRecordStates(tx, scope, { laneId: lane.id, runId });
  await passOverEndedRuns(tx, scope, { laneId: lane.id, runId });
  await tx
    .updateTable('runs')
    .set({ watermarkBefore: null, watermarkAfter: null })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .execute();
}
