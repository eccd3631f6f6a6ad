import { sql } from 'kysely';
import type { RunRow, RunStatus } from '../../../src/core/resources/run.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { runColumns } from './run-columns.ts';
import { recordRunEnds } from './run-events.ts';

export async function isCancelRequested(db: Db, scope: OrgScope, id: string): Promise<boolean> {
  const run = await db
    .selectFrom('runs')
    .select('cancelRequestedAt')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirst();
  return run !== undefined && run.cancelRequestedAt !== null;
}

/** A run that no workflow has taken yet is canceled at once; any other stops at its next batch. */
export async function requestCancel(tx: Db, scope: OrgScope, id: string): Promise<RunRow | undefined> {
  const run = await cancelOpen(tx, scope).where('id', '=', id).returning(runColumns).executeTakeFirst();
  await recordEndOf(tx, scope, run ? [run] : []);
  return run;
}

/** Leaves out runs that were asked before: the sweeper notifies workflows that were not reached. */
export async function requestCancelOfAll(tx: Db, scope: OrgScope, connectionId: string): Promise<RunRow[]> {
  const runs = await cancelOpen(tx, scope)
    .where('connectionId', '=', connectionId)
    .where('cancelRequestedAt', 'is', null)
    .returning(runColumns)
    .execute();
  await recordEndOf(tx, scope, runs);
  return runs;
}

/** Queued runs stay. */
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

/** Runs that a workflow has yet to stop have not ended. */
async function recordEndOf(tx: Db, scope: OrgScope, runs: readonly RunRow[]): Promise<void> {
  const over = runs.filter(({ status }) => status === 'canceled');
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
