import { sql } from 'kysely';
import { storableJson } from '../../../src/core/json/storable-json.ts';
import type { RunPosition } from '../../../src/core/model/run-position.ts';
import type { Combination, DimensionValue, StoredPartition } from '../../../src/core/run/run-store.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { type BatchOwner, holdsLane } from './batches/batch-owner.ts';

interface Dimension {
  readonly runId: string;
  readonly owner: BatchOwner;
  readonly dimension: number;
}

/** Lets a dimension be listed again; `false` if a newer attempt holds the lane. */
export async function clearDimension(
  db: Db,
  scope: OrgScope,
  { runId, owner, dimension }: Dimension,
): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    if (!(await holdsLane(tx, scope, owner))) return false;
    await tx
      .deleteFrom('runDimensions')
      .where('orgId', '=', scope.orgId)
      .where('runId', '=', runId)
      .where('dimension', '=', dimension)
      .execute();
    return true;
  });
}

interface DimensionPart extends Dimension {
  readonly values: readonly DimensionValue[];
  /** Where the run continues behind the values. */
  readonly position: RunPosition;
}

/** Adds the values whose keys are new. A run that has ended keeps its error. `false` if a newer attempt holds the lane. */
export async function addToDimension(db: Db, scope: OrgScope, part: DimensionPart): Promise<boolean> {
  const { runId, owner, dimension, values, position } = part;
  return db.transaction().execute(async (tx) => {
    if (!(await holdsLane(tx, scope, owner))) return false;
    if (values.length > 0) {
      await sql`
        insert into run_dimensions (org_id, run_id, dimension, no, key, value)
        select ${scope.orgId}, ${runId}, ${dimension}, known.next + row_number() over (order by first.place) - 1,
          first.key, first.value::jsonb
        from (
          select distinct on (key) key, value, place
          from unnest(${values.map(({ key }) => key)}::text[], ${values.map(({ value }) => storableJson(value))}::text[])
            with ordinality as given (key, value, place)
          order by key, place) as first,
          (select coalesce(max(no) + 1, 0) as next from run_dimensions
            where run_id = ${runId} and dimension = ${dimension}) as known
        where not exists (
          select 1 from run_dimensions d where d.run_id = ${runId} and d.dimension = ${dimension} and d.key = first.key)`.execute(
        tx,
      );
    }
    await tx
      .updateTable('runs')
      .set({
        position: storableJson(position),
        progressedAt: sql<string>`now()`,
        attempts: 0,
        errorCode: sql<null>`case when status <> 'running' then error_code end`,
        errorMessage: sql<null>`case when status <> 'running' then error_message end`,
      })
      .where('orgId', '=', scope.orgId)
      .where('id', '=', runId)
      .execute();
    return true;
  });
}

/** Empty dimensions are missing. */
export function countDimensions(
  db: Db,
  scope: OrgScope,
  runId: string,
): Promise<{ readonly dimension: number; readonly count: number }[]> {
  return db
    .selectFrom('runDimensions')
    .select(['dimension', sql<number>`count(*)::int`.as('count')])
    .where('orgId', '=', scope.orgId)
    .where('runId', '=', runId)
    .groupBy('dimension')
    .execute();
}

/** `no` counts from 0. */
export function findDimensionValue(
  db: Db,
  scope: OrgScope,
  { runId, dimension, no }: { readonly runId: string; readonly dimension: number; readonly no: number },
): Promise<DimensionValue | undefined> {
  return db
    .selectFrom('runDimensions')
    .select(['key', 'value'])
    .where('orgId', '=', scope.orgId)
    .where('runId', '=', runId)
    .where('dimension', '=', dimension)
    .where('no', '=', no)
    .executeTakeFirst();
}

interface CombinedList {
  readonly dimension: number;
  readonly count: number;
}

/** Keys of the combinations of several dimensions from number `from` on; those of the last dimension change fastest. */
export async function findCombinations(
  db: Db,
  scope: OrgScope,
  options: {
    readonly runId: string;
    readonly lists: readonly CombinedList[];
    readonly from: number;
    readonly limit: number;
  },
): Promise<readonly Combination[]> {
  const { runId, lists, from, limit } = options;
  const total = lists.reduce((product, { count }) => product * count, 1);
  const end = Math.min(from + limit, total) - 1;
  const names = lists.map((_, index) => sql.ref(`d${index}`));
  let stride = 1;
  const joins = lists
    .map(({ dimension, count }, index) => ({ dimension, count, name: names[index] }))
    .toReversed()
    .map(({ dimension, count, name }) => {
      const join = sql`join run_dimensions ${name} on ${name}.org_id = ${scope.orgId} and ${name}.run_id = ${runId}
        and ${name}.dimension = ${dimension} and ${name}.no = (n / ${stride}::bigint % ${Math.max(count, 1)}::bigint)::int`;
      stride *= count;
      return join;
    });
  const { rows } = await sql<Combination>`
    select n as no, array[${sql.join(names.map((name) => sql`${name}.key`))}] as keys
    from generate_series(${from}::bigint, ${end}::bigint) n ${sql.join(joins, sql` `)}
    order by n`.execute(db);
  return rows;
}

/** `undefined` if the partition was never read. */
export function findPartition(
  db: Db,
  scope: OrgScope,
  { laneId, partition }: { readonly laneId: number; readonly partition: string },
): Promise<StoredPartition | undefined> {
  return db
    .selectFrom('partitions')
    .select(['watermark', 'validators', 'firstStart', 'readAt', 'deletionsTo', 'shape'])
    .where('orgId', '=', scope.orgId)
    .where('laneId', '=', laneId)
    .where('partition', '=', partition)
    .executeTakeFirst();
}

/**
 * The run's watermark becomes the lowest of its partitions, `null` while one was never read; the list is no longer needed.
 * Returns that watermark; `undefined` if the run has no partitions.
 */
export async function closePartitions(tx: Db, scope: OrgScope, runId: string): Promise<string | null | undefined> {
  // Lists below 0 are those of parents, and of what was to be read.
  const counts = (await countDimensions(tx, scope, runId)).filter(({ dimension }) => dimension >= 0);
  if (counts.length === 0) return undefined;
  const listed = counts.reduce((product, { count }) => product * count, 1);
  await tx.deleteFrom('runDimensions').where('orgId', '=', scope.orgId).where('runId', '=', runId).execute();
  const run = await tx
    .updateTable('runs')
    .set({
      watermarkAfter: sql<string | null>`case
        when (select count(*) from partitions p where p.lane_id = runs.lane_id) >= ${listed}::float8
        then lane_watermark(lane_id) end`,
    })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .returning('watermarkAfter')
    .executeTakeFirst();
  return run?.watermarkAfter ?? null;
}
