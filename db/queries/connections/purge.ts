import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

export interface DeletedConnection {
  readonly id: string;
  readonly orgId: string;
}

/**
 * Leaves out connections with an open run, whose worker may still record something, or with a schedule that Temporal has yet to
 * drop.
 *
 * @param olderThanMs by then, a request that read the connection before its deletion has inserted its run.
 */
export function findPurgeableConnections(
  db: Db,
  { olderThanMs, limit }: { readonly olderThanMs: number; readonly limit: number },
): Promise<DeletedConnection[]> {
  return db
    .selectFrom('connections')
    .select(['id', 'orgId'])
    .where('deletedAt', '<', sql<string>`now() - make_interval(secs => ${olderThanMs / 1000})`)
    .where(
      sql<boolean>`not exists (
        select 1 from runs where runs.connection_id = connections.id and runs.status in ('queued', 'running'))`,
    )
    .where(
      sql<boolean>`not exists (
        select 1 from schedules
        where schedules.connection_id = connections.id and schedules.applied_version < schedules.version)`,
    )
    .orderBy('deletedAt')
    .limit(limit)
    .execute();
}

/** Tables of a connection, children before parents and large ones first; each is deleted in batches. */
const parts = [
  'hookTriggers',
  'hookRequests',
  'hooks',
  'quarantine',
  'recordState',
  'recordPartitions',
  'listedDeletions',
  'lookupCache',
  'callLog',
  'runPages',
  'runDimensions',
  'partitions',
  'runs',
  'schedules',
  'lanes',
] as const;

/** Deletes up to `rowsMax` rows and commits; repeat it until it returns `true`: nothing is left. */
export async function purgeSome(
  db: Db,
  scope: OrgScope,
  { connectionId, rowsMax }: { readonly connectionId: string; readonly rowsMax: number },
): Promise<boolean> {
  for (const part of parts) {
    const rows = sql`from ${sql.table(part)} where ${belongsTo(part, scope, connectionId)} limit ${rowsMax}`;
    const { numAffectedRows = 0n } = await deleteRows(part, rows).execute(db);
    if (numAffectedRows > 0n) return false;
  }
  // Its token buckets go with it.
  await db
    .deleteFrom('connections')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', connectionId)
    .where('deletedAt', 'is not', null)
    .execute();
  return true;
}

/** Key columns of partitioned tables: a `ctid` identifies a row in one partition only. */
const keysOfPartitioned: ReadonlyMap<string, readonly string[]> = new Map([
  ['callLog', ['runId', 'sequence', 'id']],
  ['hookRequests', ['id']],
  ['hookTriggers', ['requestId', 'resourceKey']],
]);

function deleteRows(part: (typeof parts)[number], rows: RawBuilder<unknown>) {
  const keys = keysOfPartitioned.get(part);
  if (!keys) return sql`delete from ${sql.table(part)} where ctid = any(array(select ctid ${rows}))`;
  const columns = sql.join(keys.map((key) => sql.ref(key)));
  return sql`delete from ${sql.table(part)} where (${columns}) in (select ${columns} ${rows})`;
}

function belongsTo(part: (typeof parts)[number], { orgId }: OrgScope, connectionId: string) {
  const ofConnection = sql`org_id = ${orgId} and connection_id = ${connectionId}`;
  switch (part) {
    case 'recordState':
    case 'recordPartitions':
    case 'listedDeletions':
    case 'partitions':
      return sql`lane_id in (select id from lanes where ${ofConnection})`;
    case 'callLog':
    case 'runPages':
    case 'runDimensions':
      return sql`run_id in (select id from runs where ${ofConnection})`;
    case 'hookTriggers':
    case 'hookRequests':
    case 'hooks':
    case 'quarantine':
    case 'lookupCache':
    case 'runs':
    case 'schedules':
    case 'lanes':
      return ofConnection;
  }
}
