import { type RawBuilder, sql } from 'kysely';
import { firstIdAt } from '../../../src/core/ids.ts';
import { type OrgLimitName, orgLimits } from '../../../src/core/resources/org-limits.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

/** Scope of the count within the org, where a limit has one. */
export interface Within {
  readonly connectionId?: string;
  readonly resourceKey?: string;
  readonly specId?: string;
}

/** SQL in which `max` is the limit; a limit without an entry does not count rows. */
const uses = {
  queuedRuns: () => count(sql`runs where status = 'queued'`),
  queuedRunsPerResource: ({ connectionId, resourceKey }: Within) =>
    count(sql`runs where status = 'queued' and connection_id = ${connectionId} and resource_key = ${resourceKey}`),
  requestedDeliveries: () =>
    count(sql`webhook_deliveries where trigger in ('redelivery', 'test') and id >= ${firstIdAt('whd', hoursAgo(24))}`),
  recoveries: () => count(sql`webhook_recoveries where created_at >= ${hoursAgo(24)}`),
  idleHookRequests: () => count(sql`hook_requests where starts_nothing and id >= ${firstIdAt('hreq', hoursAgo(1))}`),
  hookRequests: () => count(sql`hook_requests where not starts_nothing and id >= ${firstIdAt('hreq', hoursAgo(1))}`),
  connections: () => count(sql`connections where deleted_at is null`),
  specs: () => count(sql`specs where true`),
  versionsPerSpec: ({ specId }: Within) => count(sql`spec_versions where spec_id = ${specId}`),
  specMebibytes:
    () =>
    ({ orgId }: OrgScope) =>
      sql`coalesce((select sum(document_bytes) / 1048576 from spec_versions where org_id = ${orgId}), 0)`,
  schedules: () => count(sql`schedules where deleted_at is null`),
  schedulesPerResource: ({ connectionId, resourceKey }: Within) =>
    count(
      sql`schedules where deleted_at is null and connection_id = ${connectionId} and resource_key = ${resourceKey}`,
    ),
  hooksPerConnection: ({ connectionId }: Within) =>
    count(sql`hooks where deleted_at is null and connection_id = ${connectionId}`),
  workspaces: () => count(sql`workspaces where true`),
  oauthApps: () => count(sql`oauth_apps where true`),
  connectSessions: () => count(sql`connect_sessions where state = 'open'`),
  apiKeys: () => count(sql`api_keys where revoked_at is null and (expires_at is null or expires_at > now())`),
} as const satisfies Partial<Record<OrgLimitName, (within: Within) => (scope: OrgScope) => RawBuilder<unknown>>>;

/** Counts no further than the limit. */
const count =
  (rows: RawBuilder<unknown>) =>
  ({ orgId }: OrgScope) =>
    sql`(select count(*) from (select from ${rows} and org_id = ${orgId} limit greatest(0, max)) as found)`;

const hoursAgo = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);

export type CountedLimit = keyof typeof uses;

export interface LimitUse {
  readonly max: number;
  readonly used: number;
}

/** Other transactions may add to it meanwhile. */
export async function readLimitUses(
  db: Db,
  scope: OrgScope,
  names: readonly CountedLimit[],
  within: Within,
): Promise<readonly (LimitUse & { readonly name: CountedLimit })[]> {
  const selects = names.map(
    (name) => sql`
      select ${sql.lit(name)} as name, max, ${uses[name](within)(scope)}::int as used from ${maxOf(scope, name)}`,
  );
  const { rows } = await sql<
    LimitUse & { readonly name: CountedLimit }
  >`${sql.join(selects, sql` union all `)}`.execute(db);
  return names.map((name) => rows.find((row) => row.name === name) ?? { name, max: 0, used: 0 });
}

const maxOf = ({ orgId }: OrgScope, name: CountedLimit) => sql`(
  select coalesce((limits ->> ${sql.lit(name)})::int, ${sql.lit(orgLimits[name].default)}) as max
  from orgs where id = ${orgId}) as org`;

export const isUsedUp = (scope: OrgScope, name: CountedLimit): RawBuilder<boolean> => sql`(
  select ${uses[name]({})(scope)} >= max from ${maxOf(scope, name)})`;

export async function readLimitUse(db: Db, scope: OrgScope, name: CountedLimit, within: Within): Promise<LimitUse> {
  const [use] = await readLimitUses(db, scope, [name], within);
  return use ?? { max: 0, used: 0 };
}

export async function lockLimitUse(tx: Db, scope: OrgScope, name: CountedLimit, within: Within): Promise<LimitUse> {
  await lockOrg(tx, scope);
  return readLimitUse(tx, scope, name, within);
}

/**
 * Until the transaction ends, no other one adds to what limits count. Lock order, against deadlocks: org, connection, schedule or
 * hook, lane, run. Only a run that begins locks its row before the lane: no transaction that has the lane waits for that row.
 */
export async function lockOrg(tx: Db, scope: OrgScope): Promise<void> {
  await tx.selectFrom('orgs').select('id').where('id', '=', scope.orgId).forNoKeyUpdate().execute();
}

/** Limits of the org that differ from the defaults. */
export async function readOrgLimits(db: Db, scope: OrgScope): Promise<Readonly<Record<string, number>>> {
  const { rows } = await sql<{ readonly limits: Readonly<Record<string, number>> }>`
    select limits from orgs where id = ${scope.orgId}`.execute(db);
  return rows[0]?.limits ?? {};
}

/** Sets limits of the org; `null` restores the default. */
export async function setOrgLimits(
  db: Db,
  scope: OrgScope,
  changes: Readonly<Partial<Record<OrgLimitName, number | null>>>,
): Promise<void> {
  await db
    .updateTable('orgs')
    .set({ limits: sql`jsonb_strip_nulls(limits || ${JSON.stringify(changes)}::jsonb)` })
    .where('id', '=', scope.orgId)
    .execute();
}
