import { sql } from 'kysely';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { ownLane } from './own-lane.ts';

/** The records that a full scan compares. */
export interface Scan {
  readonly laneId: number;
  /** `runs.seq` of the run that scans. */
  readonly seq: number;
  /** The partition of the records; null: those of all partitions. */
  readonly partition: string | null;
}

/** Records of the lane that are not known as deleted, and those of them that the run has not seen. */
export async function countMissing(
  db: Db,
  scope: OrgScope,
  scan: Scan,
): Promise<{ readonly known: number; readonly missing: number }> {
  return known(db, scope, scan)
    .select([
      sql<number>`count(*)::float8`.as('known'),
      sql<number>`(count(*) filter (where seen_run is distinct from ${scan.seq}))::float8`.as('missing'),
    ])
    .executeTakeFirstOrThrow();
}

/** External ids of records that the run has not seen, in order. */
export async function findMissing(
  db: Db,
  scope: OrgScope,
  { limit, ...scan }: Scan & { readonly limit: number },
): Promise<string[]> {
  const rows = await known(db, scope, scan)
    .select('externalId')
    .where('seenRun', 'is distinct from', scan.seq)
    .orderBy('externalId')
    .limit(limit)
    .execute();
  return rows.map(({ externalId }) => externalId);
}

/** External ids of records that are known as deleted, after `after`, in order. */
export async function findDeleted(
  db: Db,
  scope: OrgScope,
  { laneId, after, limit }: { readonly laneId: number; readonly after: string | null; readonly limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('recordState')
    .select('externalId')
    .where('laneId', '=', ownLane(scope, laneId))
    .where('status', '=', 'deleted')
    .$if(after !== null, (query) => query.where('externalId', '>', after ?? ''))
    .orderBy('externalId')
    .limit(limit)
    .execute();
  return rows.map(({ externalId }) => externalId);
}

function known(db: Db, scope: OrgScope, { laneId, partition }: Scan) {
  const all = db
    .selectFrom('recordState')
    .where('laneId', '=', ownLane(scope, laneId))
    .where('status', '!=', 'deleted');
  return partition === null ? all : all.where('partition', '=', partition);
}
