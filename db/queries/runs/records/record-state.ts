import { sql } from 'kysely';
import type { KnownRecord } from '../../../../src/core/pipeline/known-records.ts';
import { textArray } from '../../../../src/core/postgres/binary-arrays.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { type Placeholders, statement } from '../../../statement.ts';

export interface RecordState extends KnownRecord {
  readonly externalId: string;
}

/** Known records only, in any order. */
export async function findRecordStates(
  db: Db,
  scope: OrgScope,
  { laneId, externalIds }: { readonly laneId: number; readonly externalIds: readonly string[] },
): Promise<readonly RecordState[]> {
  const [lists] = await statesOf(db, { orgId: scope.orgId, laneId, externalIds: textArray(externalIds) });
  if (lists === undefined || lists.externalIds === null) return [];
  const { hashes, cursors, statuses } = lists;
  // The lists are of equal length.
  return lists.externalIds.map((externalId, index) => ({
    externalId,
    hash: hashes[index] as string,
    cursor: cursors[index] as string | null,
    status: statuses[index] as RecordState['status'],
  }));
}

/** One row of lists: a row for each record takes twice as long to receive, and pages are read again and again. */
const statesOf = statement<OfLane, Lists>((db, { orgId, laneId, externalIds }: Placeholders<OfLane>) =>
  db
    .selectFrom('recordState')
    .select([
      sql<Lists['externalIds']>`json_agg(external_id)`.as('externalIds'),
      hashesInBase64url.as('hashes'),
      sql<Lists['cursors']>`json_agg(cursor)`.as('cursors'),
      sql<
        Lists['statuses']
      >`json_agg(case when flagged_run is not null and hash = '' and ${hasNoPlace} then 'flagged' when undelivered then 'undelivered' else status::text end)`.as(
        'statuses',
      ),
    ])
    .where('laneId', '=', sql<number>`(select id from lanes where org_id = ${orgId} and id = ${laneId})`)
    .where('externalId', '=', sql<string>`any(${externalIds}::text[])`),
);

/** Three replacements of the whole list take a quarter of the time of one `translate`, which looks at each character. */
const hashesInBase64url = sql<Lists['hashes']>`
  replace(replace(replace(json_agg(encode(hash, 'base64'))::text, '+', '-'), '/', '_'), '=', '')::json`;

/** A record without a fingerprint that has left a partition may live in another. */
const hasNoPlace = sql`not exists (select from record_partitions m
  where m.lane_id = record_state.lane_id and m.external_id = record_state.external_id)`;

interface OfLane {
  readonly orgId: string;
  readonly laneId: number;
  readonly externalIds: Buffer;
}

interface Lists {
  /** `null` if no record is known; the other lists are then `null` too. */
  readonly externalIds: readonly string[] | null;
  readonly hashes: readonly string[];
  readonly cursors: readonly (string | null)[];
  readonly statuses: readonly RecordState['status'][];
}
