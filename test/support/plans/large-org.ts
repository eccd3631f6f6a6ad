/** An org with years behind it: so many rows that a statement which reads all of a table cannot be missed. */
import { type Kysely, sql } from 'kysely';
import { addPartition, type PartitionedTable } from '../../../db/queries/maintenance/partitions.ts';
import type { Database } from '../../../db/schema.ts';
import { firstIdAt, type IdPrefix, newId } from '../../../src/core/ids.ts';

/** How many times as many rows there are. With 9 there are 540,000 runs and more than a million calls and fingerprints. */
const scale = Number(process.env['LARGE_ORG_SCALE'] ?? 1);
/** Connections; the first one has a fiftieth of all runs and a third of all fingerprints. */
const connectionCount = 1000;
const runCount = 60_000 * scale;
const callsPerRun = 2;
const eventCount = 30_000 * scale;
const hookRequestCount = 30_000 * scale;
const quarantinedCount = 5000 * scale;
const recordsOfFirst = 50_000 * scale;
const recordsOfOthers = 100 * scale;

/** The tables that grow, and those whose names begin like theirs: their partitions. */
export const growingTables = [
  'runs',
  'run_pages',
  'call_log',
  'record_state',
  'quarantine',
  'webhook_events',
  'webhook_messages',
  'webhook_deliveries',
  'hook_requests',
  'hook_triggers',
] as const;

interface Seed {
  readonly orgId: string;
  /** A connection of the spec, whose rows are copied. */
  readonly connectionId: string;
  readonly endpointId: string;
  /** Of that connection. */
  readonly hookId: string;
}

const dayMs = 86_400_000;
const spanDays = 89;

/** Ids over the last days, the oldest first, each with a time of its own. */
const idsOver = (prefix: IdPrefix, count: number, days: number): readonly string[] => {
  const start = Date.now() - days * dayMs;
  return Array.from({ length: count }, (_, n) =>
    firstIdAt(prefix, new Date(start + Math.floor((n * days * dayMs) / count))),
  );
};

/** Fills the org in a few seconds. Returns the ids of its runs, the oldest first. */
export async function fillLargeOrg(db: Kysely<Database>, seed: Seed): Promise<{ readonly runIds: readonly string[] }> {
  await partitionThePast(db);
  const runIds = idsOver('run', runCount, spanDays);
  await db.transaction().execute(async (tx) => {
    // The rows are right: foreign keys need not be checked one by one.
    await sql`set local session_replication_role = replica`.execute(tx);
    await addConnections(tx, seed);
    await addRuns(tx, seed, runIds);
    await addRecords(tx, seed);
    await addEvents(tx, seed);
    await addHookRequests(tx, seed);
  });
  await sql`vacuum (analyze)`.execute(db);
  return { runIds };
}

async function partitionThePast(db: Kysely<Database>): Promise<void> {
  const ranges: Readonly<Record<PartitionedTable, readonly [number, number]>> = {
    call_log: [spanDays + 2, 7],
    webhook_deliveries: [spanDays + 2, 7],
    hook_requests: [8, 1],
    hook_triggers: [8, 1],
  };
  for (const [table, [days, width]] of Object.entries(ranges)) {
    for (let ago = days; ago > -2 * width; ago -= width) {
      const [from, to] = [ago, ago - width].map((at) => new Date(Date.now() - at * dayMs));
      // The keys are those of the record.
      if (from && to) await addPartition(db, table as PartitionedTable, { from, to });
    }
  }
}

async function addConnections(tx: Kysely<Database>, { orgId, connectionId }: Seed): Promise<void> {
  const ids = Array.from({ length: connectionCount - 1 }, () => newId('con'));
  await sql`
    insert into connections (id, org_id, workspace_id, spec_id, pinned_spec_version, display_name, status, params_json)
    select new.id, org_id, workspace_id, spec_id, pinned_spec_version, 'One of many', 'active', params_json
    from connections, unnest(${ids}::text[]) as new (id) where connections.id = ${connectionId}`.execute(tx);
  await sql`
    insert into lanes (org_id, connection_id, resource_key)
    select org_id, id, 'items' from connections where org_id = ${orgId}
    on conflict do nothing`.execute(tx);
  await sql`
    insert into partitions (org_id, lane_id, watermark) select org_id, id, '7' from lanes where org_id = ${orgId}
    on conflict do nothing`.execute(tx);
}

/** Lanes by number, that of the first connection as number 0. */
const numberedLanes = ({ orgId, connectionId }: Seed) => sql`(
  select id, connection_id, row_number() over (order by connection_id <> ${connectionId}, id) - 1 as no
  from lanes where org_id = ${orgId} and resource_key = 'items')`;

async function addRuns(tx: Kysely<Database>, seed: Seed, ids: readonly string[]): Promise<void> {
  await sql`
    insert into runs (id, org_id, connection_id, resource_key, lane_id, concurrent_max, trigger, status, created_at,
      dispatched_at, started_at, finished_at, progressed_at, error_code)
    select run.id, ${seed.orgId}, lane.connection_id, 'items', lane.id, 4, 'schedule',
      case when run.n % 7 = 0 then 'failed' else 'succeeded' end, at, at, at, at, at,
      case when run.n % 7 = 0 then 'http_500' end
    from unnest(${ids}::text[]) with ordinality as run (id, n)
    cross join lateral (select now() - make_interval(secs => (${runCount} - run.n) * ${(spanDays * 86_400) / runCount}::float8) as at)
    join ${numberedLanes(seed)} lane
      on lane.no = case when run.n % 50 = 0 then 0 else run.n % ${connectionCount} end`.execute(tx);
  await sql`
    insert into run_pages (org_id, run_id, page_no, batch_no, request_key, records_in, records_out, skipped, quarantined)
    select org_id, id, 1, 1, 'k', 10, 0, 10, 0 from runs where org_id = ${seed.orgId}`.execute(tx);
  await sql`
    insert into call_log (id, org_id, run_id, sequence, method, url, status_code, duration_ms, attempt, cache_hit,
      req_headers_redacted, resp_headers, resp_body_truncated, created_at)
    select 'call_' || md5(runs.id || n), org_id, runs.id, n, 'GET', 'https://api.example/items?page=' || n, 200, 12, 1, false,
      '{"accept":"application/json"}', '{"content-type":"application/json"}', '{"data":[]}', created_at
    from runs, generate_series(1, ${callsPerRun}) n where org_id = ${seed.orgId}`.execute(tx);
}

async function addRecords(tx: Kysely<Database>, seed: Seed): Promise<void> {
  await sql`
    insert into record_state (lane_id, external_id, hash, cursor, status, fields, changed_at)
    select lane.id, 'r' || n, substr(sha256(n::text::bytea), 1, 15), '2026-01-01T00:00:00.000Z', 'delivered',
      case when lane.no = 0 then '{"id":1}'::jsonb end, case when lane.no = 0 then now() end
    from ${numberedLanes(seed)} lane,
      generate_series(1, case when lane.no = 0 then ${recordsOfFirst}::int else ${recordsOfOthers}::int end) n
    on conflict do nothing`.execute(tx);
  await sql`
    insert into quarantine (id, org_id, connection_id, resource_key, external_id, raw_json, validation_errors, run_id,
      resolved_at)
    select given.id, ${seed.orgId}, ${seed.connectionId}, 'items', 'q' || n, '{}', '[]', ${newId('run')},
      case when n > 50 then now() - interval '10 days' end
    from unnest(${idsOver('quar', quarantinedCount, spanDays)}::text[]) with ordinality as given (id, n)`.execute(tx);
}

async function addEvents(tx: Kysely<Database>, { orgId, connectionId, endpointId }: Seed): Promise<void> {
  await sql`
    insert into webhook_events (id, org_id, type, connection_id, sequence, occurred_at, payload, payload_sha256)
    select 'evt_' || md5(n::text), ${orgId}, 'run.succeeded', ${connectionId}, n,
      now() - make_interval(secs => (${eventCount} - n) * ${(spanDays * 86_400) / eventCount}::float8), '{}', ''
    from generate_series(1, ${eventCount}) n`.execute(tx);
  await sql`
    insert into webhook_messages (org_id, event_id, endpoint_id, status, attempts, next_attempt_at)
    select org_id, id, ${endpointId}, case when sequence <= ${eventCount} - 100 then 'succeeded' else 'pending' end, 1,
      case when sequence > ${eventCount} - 100 then now() end
    from webhook_events where org_id = ${orgId} and connection_id = ${connectionId} order by sequence`.execute(tx);
  await sql`
    insert into webhook_deliveries (id, org_id, event_id, endpoint_id, event_type, url, status_code, delivered, created_at,
      attempt, trigger, state, duration_ms)
    select log.id, ${orgId}, 'evt_' || md5(n::text), ${endpointId}, 'run.succeeded', 'https://93.184.215.14/hooks', 200, true,
      now() - make_interval(secs => (${eventCount} - n) * ${(spanDays * 86_400) / eventCount}::float8), 1, 'auto', 'done', 9
    from unnest(${idsOver('whd', eventCount, spanDays)}::text[]) with ordinality as log (id, n)`.execute(tx);
}

async function addHookRequests(tx: Kysely<Database>, { orgId, connectionId, hookId }: Seed): Promise<void> {
  const ids = idsOver('hreq', hookRequestCount, 6);
  await sql`
    insert into hook_requests (id, org_id, hook_id, connection_id, received_at, status, dedupe_key)
    select id, ${orgId}, ${hookId}, ${connectionId},
      now() - make_interval(secs => (${hookRequestCount} - n) * ${(6 * 86_400) / hookRequestCount}::float8), 'coalesced',
      sha256(id::bytea)
    from unnest(${ids}::text[]) with ordinality as request (id, n)`.execute(tx);
  await sql`
    insert into hook_triggers (request_id, resource_key, org_id, connection_id, pending)
    select id, 'items', ${orgId}, ${connectionId}, n > ${hookRequestCount} - 20
    from unnest(${ids}::text[]) with ordinality as request (id, n)`.execute(tx);
}
