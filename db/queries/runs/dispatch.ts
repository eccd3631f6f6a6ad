import { sql } from 'kysely';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

/** Temporal may not have the run: the sweeper starts it unless it has begun. */
export async function leaveToSweeper(db: Db, scope: OrgScope, id: string): Promise<void> {
  await db
    .updateTable('runs')
    .set({ dispatchedAt: null })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('status', '=', 'queued')
    .execute();
}

/** Temporal has taken the run; the sweeper leaves it alone from now on. */
export async function markDispatched(db: Db, scope: OrgScope, id: string): Promise<void> {
  await db
    .updateTable('runs')
    .set({ dispatchedAt: sql`now()` })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('dispatchedAt', 'is', null)
    .execute();
}

/** The run's workflow was seen open; the sweeper checks it again only after a while. */
export async function markAlive(db: Db, scope: OrgScope, id: string): Promise<void> {
  await db
    .updateTable('runs')
    .set({ progressedAt: sql`now()` })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute();
}

/** `false` if the run was restarted `max` times, or has ended. */
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
