import { type RawBuilder, sql } from 'kysely';
import { type OrgLimitName, orgLimits } from '../../../src/core/resources/org-limits.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

/** The scope of the count within the org, where a limit has one. */
export interface Within {
  readonly connectionId?: string;
  readonly resourceKey?: string;
  readonly specId?: string;
}

/** The rows that count, but for those of other orgs. A limit without an entry does not count rows. */
const counted = {
  queuedRuns: () => sql`runs where status = 'queued'`,
  queuedRunsPerResource: ({ connectionId, resourceKey }: Within) =>
    sql`runs where status = 'queued' and connection_id = ${connectionId} and resource_key = ${resourceKey}`,
  connections: () => sql`connections where deleted_at is null`,
  specs: () => sql`specs where true`,
  versionsPerSpec: ({ specId }: Within) => sql`spec_versions where spec_id = ${specId}`,
  schedules: () => sql`schedules where deleted_at is null`,
  schedulesPerResource: ({ connectionId, resourceKey }: Within) =>
    sql`schedules where deleted_at is null and connection_id = ${connectionId} and resource_key = ${resourceKey}`,
  hooksPerConnection: ({ connectionId }: Within) =>
    sql`hooks where deleted_at is null and connection_id = ${connectionId}`,
  workspaces: () => sql`workspaces where true`,
  apiKeys: () => sql`api_keys where revoked_at is null and (expires_at is null or expires_at > now())`,
} as const satisfies Partial<Record<OrgLimitName, (within: Within) => RawBuilder<unknown>>>;

/** A limit on how many rows an org has. */
export type CountedLimit = keyof typeof counted;

/** How many there may be, and how many there are. */
export interface LimitUse {
  readonly max: number;
  readonly used: number;
}

/** The use of limits as it is now; others may add to it meanwhile. Counts no further than a limit. */
export async function readLimitUses(
  db: Db,
  scope: OrgScope,
  names: readonly CountedLimit[],
  within: Within,
): Promise<readonly (LimitUse & { readonly name: CountedLimit })[]> {
  const uses = names.map(
    (name) => sql`
      select ${sql.lit(name)} as name, max, (select count(*) from (
        select from ${counted[name](within)} and org_id = ${scope.orgId} limit greatest(0, max)) as found)::int as used
      from (
        select coalesce((limits ->> ${sql.lit(name)})::int, ${sql.lit(orgLimits[name].default)}) as max
        from orgs where id = ${scope.orgId}) as org`,
  );
  const { rows } = await sql<LimitUse & { readonly name: CountedLimit }>`${sql.join(uses, sql` union all `)}`.execute(
    db,
  );
  return names.map((name) => rows.find((row) => row.name === name) ?? { name, max: 0, used: 0 });
}

async function readLimitUse(db: Db, scope: OrgScope, name: CountedLimit, within: Within): Promise<LimitUse> {
  const [use] = await readLimitUses(db, scope, [name], within);
  return use ?? { max: 0, used: 0 };
}

/**
 * Reads what a limit counts, as {@link readLimitUse} does, once nobody else adds to it: the org is locked until the
 * transaction ends.
 */
export async function lockLimitUse(tx: Db, scope: OrgScope, name: CountedLimit, within: Within): Promise<LimitUse> {
  await lockOrg(tx, scope);
  return readLimitUse(tx, scope, name, within);
}

/**
 * Nobody else adds to what counts until the transaction ends. Whoever locks several rows locks them in this order, so that
 * no two transactions wait for each other: org, connection, schedule or hook, lane, run. Only a run that begins locks its row
 * before the lane: nobody who has the lane waits for that row.
 */
export async function lockOrg(tx: Db, scope: OrgScope): Promise<void> {
  await tx.selectFrom('orgs').select('id').where('id', '=', scope.orgId).forNoKeyUpdate().execute();
}

/** The numbers of the org that differ from the defaults. */
export async function readOrgLimits(db: Db, scope: OrgScope): Promise<Readonly<Record<string, number>>> {
  const { rows } = await sql<{ readonly limits: Readonly<Record<string, number>> }>`
    select limits from orgs where id = ${scope.orgId}`.execute(db);
  return rows[0]?.limits ?? {};
}

/** Sets numbers of the org; null: the default counts again. */
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
