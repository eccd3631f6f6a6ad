import { sql } from 'kysely';
import { textArray } from '../../src/core/binary-arrays.ts';
import type { Db } from '../client.ts';
import type { OrgScope } from '../scope.ts';
import { type Placeholders, statement } from '../statement.ts';

/** What is known of a record from earlier batches. */
export interface RecordState {
  readonly externalId: string;
  readonly hash: Buffer;
  /** Canonical cursor value; null when that version had none. */
  readonly cursor: string | null;
  readonly status: 'delivered' | 'quarantined' | 'deleted';
}

/** The known among the given records of a lane, in no order. */
export const findRecordStates = (
  db: Db,
  scope: OrgScope,
  { laneId, externalIds }: { readonly laneId: number; readonly externalIds: readonly string[] },
): Promise<readonly RecordState[]> => statesOf(db, { orgId: scope.orgId, laneId, externalIds: textArray(externalIds) });

const statesOf = statement((db, { orgId, laneId, externalIds }: Placeholders<OfLane>) =>
  db
    .selectFrom('recordState')
    .select(['externalId', 'hash', 'cursor', 'status'])
    .where('orgId', '=', orgId)
    .where('laneId', '=', laneId)
    .where('externalId', '=', sql<string>`any(${externalIds}::text[])`),
);

interface OfLane {
  readonly orgId: string;
  readonly laneId: number;
  readonly externalIds: Buffer;
}
