import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

/**
 * Continues a running run with the connection's current access and a fresh count of attempts. `false` if it has that access
 * already, or began with other params, which do not fit it.
 */
export async function takeUpAccess(db: Db, scope: OrgScope, runId: string): Promise<boolean> {
  const known = await db
    .selectFrom('runs')
    .innerJoin('connections', 'connections.id', 'runs.connectionId')
    .select((eb) => ['connections.accessNo', eb('runs.paramsJson', '=', eb.ref('connections.paramsJson')).as('isSame')])
    .where('runs.orgId', '=', scope.orgId)
    .where('runs.id', '=', runId)
    .executeTakeFirst();
  if (!known?.isSame) return false;
  const { numUpdatedRows } = await db
    .updateTable('runs')
    .set({ accessNo: known.accessNo, attempts: 0 })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .where('status', '=', 'running')
    .where('accessNo', '<', known.accessNo)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}
