import { sql } from 'kysely';
import type { Db } from '../../../db/client.ts';
import { insertCalls } from '../../../db/queries/runs/calls.ts';
import { orgScope } from '../../../db/scope.ts';
import { idAt } from './past-ids.ts';

interface Subject {
  readonly orgId: string;
  readonly id: string;
}

/** The ledger of a run: its pages over the time that it took. */
export async function addPages(
  db: Db,
  { orgId, id, random }: Subject & { readonly random: () => number },
): Promise<void> {
  const run = await db.selectFrom('runs').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  const startedMs = Date.parse(run.startedAt ?? '');
  const endMs = run.finishedAt === null ? Date.now() : Date.parse(run.finishedAt);
  const pages = Math.ceil(run.recordsIn / 100);
  const rows = Array.from({ length: pages }, (_, index) => {
    const recordsIn = Math.min(100, run.recordsIn - index * 100);
    const share = (index + 1 - random() * 0.6) / pages;
    return {
      orgId,
      runId: id,
      pageNo: index + 1,
      batchNo: Math.floor(index / 10) + 1,
      requestKey: `page-${index}`,
      recordsIn,
      recordsOut: Math.floor(recordsIn * (0.55 + 0.4 * random())),
      skipped: 0,
      quarantined: 0,
      recordedAt: new Date(startedMs + share ** 1.15 * (endMs - startedMs)).toISOString(),
    };
  });
  if (rows.length > 0) await db.insertInto('runPages').values(rows).execute();
}

/** The requests of a run. */
export async function addCalls(
  db: Db,
  { orgId, id, isFailed }: Subject & { readonly isFailed: boolean },
): Promise<void> {
  const { resourceKey, externalCustomerId } = await db
    .selectFrom('runs')
    .innerJoin('connections', 'connections.id', 'runs.connectionId')
    .select(['runs.resourceKey', 'connections.externalCustomerId'])
    .where('runs.id', '=', id)
    .executeTakeFirstOrThrow();
  const host = `${externalCustomerId?.slice(4)}.api.example.com`;
  const url = (cursor: number) => `https://${host}/v2/${resourceKey}?limit=100&cursor=${cursor}`;
  const calls = Array.from({ length: isFailed ? 3 : 32 }, (_, index) => {
    const isThrottled = index === 4;
    const statusCode = isFailed && index === 2 ? 401 : isThrottled ? 429 : 200;
    return {
      runId: id,
      sequence: index + 1,
      method: 'GET',
      url: url(Math.max(0, index - (index > 4 ? 1 : 0))),
      statusCode,
      durationMs: 90 + ((index * 137) % 420) + (index % 9 === 7 ? 900 : 0),
      attempt: index === 5 ? 2 : 1,
      cacheHit: false,
      errorCode: null,
      reqHeadersRedacted: {
        accept: 'application/json',
        authorization: '[redacted]',
        'user-agent': 'connector-sync/0.1.0',
      },
      reqBodyRedacted: null,
      respHeaders: { 'content-type': 'application/json', 'x-ratelimit-remaining': String(500 - index) },
      respBodyTruncated:
        statusCode === 200
          ? '{"data":[{"id":"c_81","email":"Mara@Example.com","address":{"city":"Leeds"}}],"next_cursor":"82"}'
          : statusCode === 401
            ? '{"error":"invalid_token","message":"The access token was revoked."}'
            : '{"error":"too_many_requests"}',
    };
  });
  await insertCalls(db, orgScope(orgId), calls);
}

const reasons = [
  ['email', 'must match format "email"'],
  ['id', 'must be string'],
  ['address.city', 'must be string'],
] as const;

/** Records that are not delivered; the id of the newest. */
export async function addQuarantine(
  db: Db,
  { orgId, connectionId }: { readonly orgId: string; readonly connectionId: string },
): Promise<string> {
  const run = await db
    .selectFrom('runs')
    .select(['id', 'resourceKey'])
    .where('connectionId', '=', connectionId)
    .where(sql<boolean>`status = 'partial'`)
    .orderBy('id', 'desc')
    .executeTakeFirstOrThrow();
  let last = '';
  for (let n = 14; n >= 1; n -= 1) {
    const [path, message] = reasons[n % reasons.length] ?? reasons[0];
    last = idAt('quar', new Date(Date.now() - n * 190_000));
    await db
      .insertInto('quarantine')
      .values({
        id: last,
        orgId,
        connectionId,
        runId: run.id,
        resourceKey: run.resourceKey,
        externalId: `c_${7300 + n}`,
        createdAt: new Date(Date.now() - n * 190_000).toISOString(),
        rawJson: JSON.stringify({
          id: `c_${7300 + n}`,
          email: n % 3 === 0 ? 'not an address' : `person${n}@example.com`,
          name: `Person ${n}`,
          address: { city: n % 3 === 2 ? null : 'Leeds', country: 'gb' },
          tags: ['imported', 'newsletter'],
          updated_at: '2026-03-01T08:30:00Z',
        }),
        validationErrors: JSON.stringify([
          { path, message },
          ...(n === 1 ? [{ path: 'address.street', message: 'must have required property "street"' }] : []),
        ]),
      })
      .execute();
  }
  return last;
}

/** What is known of some records of a resource: its last run read `c_81`, and deleted `c_82`. */
export async function addRecords(
  db: Db,
  { connectionId, resourceKey }: { readonly connectionId: string; readonly resourceKey: string },
): Promise<void> {
  await sql`
    insert into record_state (lane_id, external_id, hash, cursor, status, seen_run, changed_at)
    select lanes.id, known.key, '\\x01', '2026-03-01T08:30:00.000Z', known.status::record_status, last.seq, last.created_at
    from lanes
    cross join lateral (select seq, created_at from runs where lane_id = lanes.id order by seq desc limit 1) last
    cross join (values ('c_81', 'delivered'), ('c_82', 'deleted')) as known (key, status)
    where connection_id = ${connectionId} and resource_key = ${resourceKey}`.execute(db);
}
