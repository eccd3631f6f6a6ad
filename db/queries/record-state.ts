import { sql } from 'kysely';
import { arrayLiteral } from '../../src/core/array-literal.ts';
import type { Db } from '../client.ts';
import type { OrgScope } from '../scope.ts';

/** What is known of a record from earlier batches. */
export interface RecordState {
  readonly externalId: string;
  readonly hash: Buffer;
  /** Canonical cursor value; null when that version had none. */
  readonly cursor: string | null;
  readonly status: 'delivered' | 'quarantined' | 'deleted';
}

/** The known among the given records of a lane, in no order. */
export function findRecordStates(
  db: Db,
  scope: OrgScope,
  { laneId, externalIds }: { readonly laneId: number; readonly externalIds: readonly string[] },
): Promise<RecordState[]> {
  return db
    .selectFrom('recordState')
    .select(['externalId', 'hash', 'cursor', 'status'])
    .where('orgId', '=', scope.orgId)
    .where('laneId', '=', laneId)
    .where('externalId', '=', sql<string>`any(${arrayLiteral(externalIds)}::text[])`)
    .execute();
}
