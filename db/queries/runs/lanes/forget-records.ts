import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { ownLane } from '../records/own-lane.ts';

/** `set` forgets a part of what is known of records, `isKnown` selects those that have it. */
interface Forgettable {
  readonly set: RawBuilder<unknown>;
  readonly isKnown: RawBuilder<unknown>;
}

export const cursors: Forgettable = { set: sql`cursor = null`, isKnown: sql`cursor is not null` };

/** No version has an empty fingerprint, so each record is taken again, even if it had these fields before. */
export const fields: Forgettable = {
  set: sql`fields = null, hash = case when status = 'deleted' then hash else '' end`,
  isKnown: sql`(fields is not null or (hash <> '' and status <> 'deleted'))`,
};

/** Records that have left a partition: everything is read again. Those that say that they are deleted have no fingerprint. */
export const leaves: Forgettable = {
  set: sql`flagged_run = null`,
  isKnown: sql`flagged_run is not null and hash <> ''`,
};

/** Complete reads that lacked a record: they were of another list. */
export const misses: Forgettable = { set: sql`missed = null, missed_run = null`, isKnown: sql`missed is not null` };

/** The place of a record from before `record_partitions`. */
export const places: Forgettable = { set: sql`partition = ''`, isKnown: sql`partition <> ''` };

/** A record that was kept back is kept back again if it is still invalid. */
export const keptBack: Forgettable = {
  set: sql`hash = ''`,
  isKnown: sql`(status = 'quarantined' and hash <> '')`,
};

/** A destination that was restored may have an earlier version of any record that was kept back. */
export const undelivered: Forgettable = { set: sql`undelivered = null`, isKnown: sql`undelivered` };

/** Each record that is read is delivered, as no version has an empty fingerprint. */
export const delivered: Forgettable = {
  set: sql`${undelivered.set}, hash = case when status = 'delivered' then '' else hash end`,
  isKnown: sql`(${undelivered.isKnown} or (status = 'delivered' and hash <> ''))`,
};

export async function forget(
  tx: Db,
  scope: OrgScope,
  { laneId, set, isKnown }: Forgettable & { readonly laneId: number },
): Promise<void> {
  await inPieces(
    tx,
    (limit) => sql`
      update record_state set ${set} where ctid = any(array(
        select ctid from record_state where lane_id = ${ownLane(scope, laneId)} and ${isKnown} limit ${limit}))`,
  );
}

/** Rows per statement: seconds at most, so that the lane of ten million records does not meet the statement limit. */
const piece = 200_000;

/** Repeats a statement until it changes fewer rows than its limit; returns the number of all. */
export async function inPieces(tx: Db, statement: (limit: number) => RawBuilder<unknown>): Promise<number> {
  for (let total = 0; ; ) {
    const { numAffectedRows = 0n } = await statement(piece).execute(tx);
    total += Number(numAffectedRows);
    if (numAffectedRows < piece) return total;
  }
}
