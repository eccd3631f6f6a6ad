import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

/**
 * Lets a running run go on with what its connection signs in with now, and try it as often as if it began. False: it does so
 * already, or it began with other params, which do not go with the credentials of now.
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
