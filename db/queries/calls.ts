import { newId } from '../../src/core/ids.ts';
import type { CallLogRow } from '../../src/core/rows.ts';
import type { Db } from '../client.ts';
import { countRows, type Listing, openListing } from '../listing.ts';
import type { OrgScope } from '../scope.ts';

/** A call to store; the id is made here. */
export type NewCall = Omit<CallLogRow, 'id'> & { readonly errorCode: string | null };

/** Stores calls that belong to runs of the org. */
export async function insertCalls(db: Db, scope: OrgScope, calls: readonly NewCall[]): Promise<void> {
  if (calls.length === 0) return;
  await db
    .insertInto('callLog')
    .values(
      calls.map((call) => ({
        ...call,
        id: newId('call'),
        orgId: scope.orgId,
        reqHeadersRedacted: JSON.stringify(call.reqHeadersRedacted),
        respHeaders: JSON.stringify(call.respHeaders),
      })),
    )
    .execute();
}

/** The sequence of the last call of a run; 0 before the first. */
export async function lastCallSequence(db: Db, scope: OrgScope, runId: string): Promise<number> {
  const { last } = await db
    .selectFrom('callLog')
    .select((eb) => eb.fn.max('sequence').as('last'))
    .where('orgId', '=', scope.orgId)
    .where('runId', '=', runId)
    .executeTakeFirstOrThrow();
  return last ?? 0;
}

const columns = [
  'id',
  'runId',
  'sequence',
  'method',
  'url',
  'statusCode',
  'durationMs',
  'attempt',
  'cacheHit',
  'reqHeadersRedacted',
  'reqBodyRedacted',
  'respHeaders',
  'respBodyTruncated',
] as const;

/** Every call of a run, in order. */
export function listCalls(db: Db, scope: OrgScope, runId: string): Promise<Listing<CallLogRow>> {
  const ofRun = db.selectFrom('callLog').where('orgId', '=', scope.orgId).where('runId', '=', runId);
  return openListing({
    batch(last, limit) {
      const query = ofRun.select(columns).orderBy('sequence').orderBy('id').limit(limit);
      if (!last) return query.execute();
      return query.where((eb) => eb(eb.refTuple('sequence', 'id'), '>', eb.tuple(last.sequence, last.id))).execute();
    },
    count: () => countRows(ofRun),
  });
}
