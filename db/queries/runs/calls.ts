import { sql } from 'kysely';
import { newId } from '../../../src/core/ids.ts';
import type { CallLogRow } from '../../../src/core/resources/run.ts';
import type { Db } from '../../client.ts';
import { countRows, type Listing, openListing } from '../../listing.ts';
import type { OrgScope } from '../../scope.ts';

export type NewCall = Omit<CallLogRow, 'id'>;

/** Stores calls of the org's runs as one list: the statement is the same for any number of them. */
export async function insertCalls(db: Db, scope: OrgScope, calls: readonly NewCall[]): Promise<void> {
  if (calls.length === 0) return;
  const rows = calls.map((call) => ({ id: newId('call'), ...call }));
  await sql`
    insert into call_log (
      org_id, id, run_id, sequence, method, url, status_code, duration_ms, attempt, cache_hit,
      req_headers_redacted, req_body_redacted, resp_headers, resp_body_truncated, error_code)
    select ${scope.orgId}, c.*
    from json_to_recordset(${JSON.stringify(rows)}) as c (
      id text, "runId" text, sequence bigint, method text, url text, "statusCode" int, "durationMs" int, attempt int,
      "cacheHit" boolean, "reqHeadersRedacted" jsonb, "reqBodyRedacted" text, "respHeaders" jsonb,
      "respBodyTruncated" text, "errorCode" text)`.execute(db);
}

/** `0` before the first call. */
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
  'errorCode',
  'durationMs',
  'attempt',
  'cacheHit',
  'reqHeadersRedacted',
  'reqBodyRedacted',
  'respHeaders',
  'respBodyTruncated',
] as const;

const storedBytes = sql<number>`pg_column_size(req_headers_redacted) + pg_column_size(resp_headers)
  + coalesce(pg_column_size(req_body_redacted), 0) + coalesce(pg_column_size(resp_body_truncated), 0)
  + pg_column_size(url)`;

export function listCalls(db: Db, scope: OrgScope, runId: string): Promise<Listing<CallLogRow>> {
  const ofRun = db.selectFrom('callLog').where('orgId', '=', scope.orgId).where('runId', '=', runId);
  const nextOf = (last: CallLogRow | null, limit: number) =>
    (last ? ofRun.where((eb) => eb(eb.refTuple('sequence', 'id'), '>', eb.tuple(last.sequence, last.id))) : ofRun)
      .orderBy('sequence')
      .orderBy('id')
      .limit(limit);
  return openListing({
    batch: (last, limit) => nextOf(last, limit).select(columns).execute(),
    async measure(last, limit) {
      return (await nextOf(last, limit).select(storedBytes.as('bytes')).execute()).map(({ bytes }) => bytes);
    },
    count: () => countRows(ofRun),
  });
}

export type CallLine = CallLogRow & { readonly createdAt: string };

export function findCalls(
  db: Db,
  scope: OrgScope,
  { runId, after, limit }: { readonly runId: string; readonly after: number; readonly limit: number },
): Promise<CallLine[]> {
  return db
    .selectFrom('callLog')
    .select([...columns, 'createdAt'])
    .where('orgId', '=', scope.orgId)
    .where('runId', '=', runId)
    .where('sequence', '>', after)
    .orderBy('sequence')
    .orderBy('id')
    .limit(limit)
    .execute();
}
