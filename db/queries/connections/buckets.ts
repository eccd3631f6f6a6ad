import { sql } from 'kysely';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { type Placeholders, statement } from '../../statement.ts';

/** A token bucket: `requests` per `perSeconds`, at most `burst` at once. */
export interface BucketRate {
  /** `null` if all connections of the org share the bucket. */
  readonly connectionId: string | null;
  readonly name: string;
  readonly requests: number;
  readonly perSeconds: number;
  readonly burst: number;
}

/**
 * Takes tokens in one statement (GCRA), so that the rate holds across all worker processes.
 *
 * @param tokens taken together, at most `burst`; the wait is that of the last one. Default 1.
 * @param waitMsMax a longer wait is not reserved: the caller comes back after it.
 * @returns milliseconds to wait before sending. Above `waitMsMax` no token was taken.
 */
export async function takeToken(
  db: Db,
  scope: OrgScope,
  { rate, tokens = 1, waitMsMax }: { readonly rate: BucketRate; readonly tokens?: number; readonly waitMsMax: number },
): Promise<number> {
  const { step: single, slack: whole } = spacing(rate);
  const step = single * tokens;
  const slack = whole - single * (tokens - 1);
  const { connectionId, name } = rate;
  const waited = slack + waitMsMax / 1000;
  const [taken] = await takeTokens(db, { orgId: scope.orgId, connectionId, name, step, slack, waited });
  return taken?.waitMs ?? 0;
}

/** Times in seconds. */
interface TokensToTake extends Pick<BucketRate, 'connectionId' | 'name'> {
  readonly orgId: string;
  readonly step: number;
  readonly slack: number;
  readonly waited: number;
}

const takeTokens = statement((_, { orgId, connectionId, name, step, slack, waited }: Placeholders<TokensToTake>) => {
  const from = sql`greatest(b.full_at, clock_timestamp())`;
  const grants = sql`${from} - clock_timestamp() <= make_interval(secs => ${waited})`;
  const one = sql`make_interval(secs => ${step})`;
  return sql<{ readonly waitMs: number }>`
    insert into buckets as b (org_id, connection_id, name, full_at, granted)
    values (${orgId}, ${connectionId}, ${name}, clock_timestamp() + ${one}, true)
    on conflict (org_id, owner, name) do update set
      granted = ${grants},
      full_at = case when ${grants} then ${from} + ${one} else b.full_at end
    returning greatest(0, extract(epoch from
      full_at - case when granted then ${one} else make_interval() end - make_interval(secs => ${slack}) - clock_timestamp()) * 1000)::float8
      as wait_ms`;
});

/** Empties a bucket until `waitMs` from now, as the API asked; then tokens come one by one. No caller waits less than before. */
export async function emptyBucket(
  db: Db,
  scope: OrgScope,
  { rate, waitMs }: { readonly rate: BucketRate; readonly waitMs: number },
): Promise<void> {
  const fullAt = sql`clock_timestamp() + ${seconds(waitMs / 1000 + spacing(rate).slack)}`;
  await sql`
    insert into buckets as b (org_id, connection_id, name, full_at, granted)
    values (${scope.orgId}, ${rate.connectionId}, ${rate.name}, ${fullAt}, true)
    on conflict (org_id, owner, name) do update set full_at = greatest(b.full_at, excluded.full_at)`.execute(db);
}

/** Seconds between tokens, and how much earlier a burst may come. */
function spacing({ requests, perSeconds, burst }: BucketRate): { readonly step: number; readonly slack: number } {
  const step = perSeconds / requests;
  return { step, slack: step * (burst - 1) };
}

const seconds = (value: number) => sql`make_interval(secs => ${value})`;
