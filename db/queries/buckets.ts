import { sql } from 'kysely';
import type { Db } from '../client.ts';
import type { OrgScope } from '../scope.ts';

/** A token bucket: `requests` per `perSeconds`, at most `burst` at once. */
export interface BucketRate {
  readonly connectionId: string;
  readonly name: string;
  readonly requests: number;
  readonly perSeconds: number;
  readonly burst: number;
}

/**
 * Takes one token in one statement, so that the rate holds across every worker process (GCRA).
 *
 * @param waitMsMax a longer wait is not reserved: the caller comes back after it.
 * @returns milliseconds to wait before sending. At most `waitMsMax`: the token is the caller's. More: it is not.
 */
export async function takeToken(
  db: Db,
  scope: OrgScope,
  { rate, waitMsMax }: { readonly rate: BucketRate; readonly waitMsMax: number },
): Promise<number> {
  const step = rate.perSeconds / rate.requests;
  const slack = step * (rate.burst - 1);
  const ms = (seconds: number) => sql`make_interval(secs => ${seconds})`;
  const from = sql`greatest(b.full_at, clock_timestamp())`;
  const grants = sql`${from} - clock_timestamp() <= ${ms(slack + waitMsMax / 1000)}`;
  const { rows } = await sql<{ waitMs: number }>`
    insert into buckets as b (org_id, connection_id, name, full_at, granted)
    values (${scope.orgId}, ${rate.connectionId}, ${rate.name}, clock_timestamp() + ${ms(step)}, true)
    on conflict (connection_id, name) do update set
      granted = ${grants},
      full_at = case when ${grants} then ${from} + ${ms(step)} else b.full_at end
    returning greatest(0, extract(epoch from
      full_at - case when granted then ${ms(step)} else make_interval() end - ${ms(slack)} - clock_timestamp()) * 1000)::float8
      as wait_ms`.execute(db);
  return rows[0]?.waitMs ?? 0;
}
