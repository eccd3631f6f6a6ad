import { sql } from 'kysely';
import type { Db } from '../../../db/client.ts';
import { idAt } from './past-ids.ts';

interface Subject {
  readonly orgId: string;
  readonly connectionId: string;
}

/** Ids a second apart, the newest first. */
const ids = (prefix: 'run' | 'quar', count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => idAt(prefix, new Date(Date.now() - n * 1000)));

/** Runs of the resource `items`: every tenth failed. */
export async function addRuns(db: Db, { orgId, connectionId }: Subject, count: number): Promise<void> {
  await sql`
    insert into runs (id, org_id, connection_id, resource_key, lane_id, concurrent_max, trigger, status, created_at,
      dispatched_at, started_at, finished_at, progressed_at, records_in, records_out, error_code, error_message)
    select run.id, ${orgId}, lanes.connection_id, lanes.resource_key, lanes.id, 4, 'schedule',
      case when n % 10 = 0 then 'failed' else 'succeeded' end, at, at, at, at, at, 5000, 5000,
      case when n % 10 = 0 then 'source_rejected' end, case when n % 10 = 0 then 'The API refused the request.' end
    from unnest(${ids('run', count)}::text[]) with ordinality as run (id, n)
    cross join lateral (select now() - make_interval(secs => n::float8) as at) time
    join lanes on lanes.connection_id = ${connectionId} and lanes.resource_key = 'items'`.execute(db);
}

/** Quarantined records, each of some 8 kB; half of them of the resource `items`, half of `others`. */
export async function addQuarantined(db: Db, { orgId, connectionId }: Subject, count: number): Promise<void> {
  await sql`
    insert into quarantine (id, org_id, connection_id, resource_key, external_id, raw_json, validation_errors, run_id)
    select given.id, ${orgId}, ${connectionId}, case when n % 2 = 0 then 'items' else 'others' end, 'record-' || n,
      jsonb_build_object('id', n, 'notes', repeat('what a person wrote ', 400)),
      '[{"path": "email", "message": "must match format \\"email\\""}]', (select min(id) from runs where org_id = ${orgId})
    from unnest(${ids('quar', count)}::text[]) with ordinality as given (id, n)`.execute(db);
}
