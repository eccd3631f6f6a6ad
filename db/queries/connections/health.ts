import { type RawBuilder, sql } from 'kysely';
import type { ConnectionStatus } from '../../../src/core/resources/connection.ts';
import { Health } from '../../../src/core/resources/freshness.ts';
import { healthOf as healthOfResource, type ResourceFacts, worst } from '../../../src/core/schedule/freshness.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { attemptsFail, expectedInterval, hasQuarantined, lastSuccess, overdueNow } from './freshness.ts';

export interface HealthFacts
  extends Pick<ResourceFacts, 'inProgress' | 'attemptsFail' | 'hasQuarantined' | 'lastOutcome'> {
  readonly overdue: boolean;
}

/** The distinct facts among a connection's resources. */
export interface ConnectionHealth {
  readonly connectionId: string;
  readonly facts: readonly HealthFacts[];
  /** `null` if no resource ever succeeded. */
  readonly lastSuccessAt: string | null;
}

export async function findConnectionHealth(
  db: Db,
  scope: OrgScope,
  ids: readonly string[],
): Promise<readonly ConnectionHealth[]> {
  const { rows } = await sql<ConnectionHealth>`
    select id as connection_id, facts, last_success_at
    from (${healthOf(scope, sql`connections.id = any(${[...ids]}::text[])`)}) each`.execute(db);
  return rows;
}

/** The connections of this health, as a condition on the rows of `connections`; it reads what {@link countConnectionHealth} reads. */
export const hasHealth = (scope: OrgScope, health: Health): RawBuilder<boolean> => {
  const worse = Health.options.filter((other) => other !== health && worst([other, health]) === other);
  return sql<boolean>`connections.id in (
    select id from (${healthOf(scope, sql`true`)}) each
    where ${someFacts([health])} and not ${someFacts(worse)})`;
};

/** Whether a resource of the row has facts of one of these. */
const someFacts = (healths: readonly Health[]): RawBuilder<boolean> => {
  const facts = everyFacts.filter((one) => healths.includes(healthOfResource(one)));
  return sql<boolean>`exists (
    select from jsonb_array_elements(facts) one
    where one in (select jsonb_array_elements(${JSON.stringify(facts)}::jsonb)))`;
};

/** All facts that a resource can have: the rule of health is not written a second time in SQL. */
const everyFacts: readonly HealthFacts[] = ([null, 'succeeded', 'partial', 'failed'] as const).flatMap((lastOutcome) =>
  Array.from({ length: 16 }, (_, bits) => ({
    lastOutcome,
    inProgress: (bits & 1) > 0,
    attemptsFail: (bits & 2) > 0,
    hasQuarantined: (bits & 4) > 0,
    overdue: (bits & 8) > 0,
  })),
);

export interface HealthGroup extends Pick<ConnectionHealth, 'facts'> {
  readonly connections: number;
  /** Ids of some of them. */
  readonly sample: readonly string[];
}

/** Without paused connections. */
export async function countConnectionHealth(
  db: Db,
  scope: OrgScope,
  sampleMax: number,
): Promise<readonly HealthGroup[]> {
  const { rows } = await sql<HealthGroup>`
    select facts, count(*) as connections, (array_agg(id order by id desc))[1:${sql.lit(sampleMax)}] as sample
    from (${healthOf(scope, sql`connections.status <> 'paused'`)}) each group by facts`.execute(db);
  return rows;
}

/** Counts and ages across orgs. */
export interface StatusHealth extends Pick<ConnectionHealth, 'facts'> {
  readonly status: ConnectionStatus;
  readonly connections: number;
  /**
   * Seconds since the last success, or else the first run, of a resource whose newest outcome is a failure. The largest such
   * value; `null` without such a resource.
   */
  readonly failingSeconds: number | null;
}

/**
 * The cost grows with connections, not with runs: the newest runs of each lane are found by indexes. A resource is overdue as the
 * sweeper noted it. Records in quarantine do not count: they wait for the org, not for the operator.
 */
export async function countAllConnections(db: Db): Promise<readonly StatusHealth[]> {
  const { rows } = await sql<StatusHealth>`
    select status, facts, count(*)::int as connections,
      extract(epoch from now() - min(failing_since))::float8 as failing_seconds
    from (
      with ${pinnedResources(sql`connections.deleted_at is null`)}
      select connections.id, connections.status,
        min(case when ended.status = 'failed' then coalesce(
          (select finished_at from runs where lane_id = lanes.id and status = 'succeeded' order by seq desc limit 1),
          (select created_at from runs where lane_id = lanes.id order by seq limit 1)) end) as failing_since,
        ${factsOf({
          inProgress: sql`lanes.id in (select lane_id from runs where status in ('queued', 'running'))`,
          overdue: sql`lanes.overdue_since is not null`,
          hasQuarantined: sql`false`,
        })}
      from connections ${resourcesAndOutcomes}
      where connections.deleted_at is null
      group by connections.id) each
    group by status, facts`.execute(db);
  return rows;
}

/** Resources added by overrides are left out, so that one document is read per version in use, not per connection. */
const healthOf = (scope: OrgScope, which: RawBuilder<unknown>): RawBuilder<unknown> => {
  const chosen = sql`connections.org_id = ${scope.orgId} and connections.deleted_at is null and ${which}`;
  return sql`
    with ${pinnedResources(chosen)}
    select connections.id, max(success.finished_at) as last_success_at,
      ${factsOf({
        inProgress: sql`running.in_progress`,
        overdue: overdueNow,
        hasQuarantined: hasQuarantined(sql.ref('pinned.resource_key')),
      })}
    from connections ${resourcesAndOutcomes}
    left join lateral (
      select exists (select 1 from runs where lane_id = lanes.id and status = 'running')
        or exists (select 1 from runs where lane_id = lanes.id and status = 'queued') as in_progress) running on true
    left join lateral (${lastSuccess}) success on true
    left join lateral (${expectedInterval(sql.ref('pinned.resource_key'))}) expected on true
    where ${chosen}
    group by connections.id`;
};

const pinnedResources = (which: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  in_use as materialized (
    select distinct org_id, spec_id, pinned_spec_version as version from connections where ${which}),
  pinned as materialized (
    select org_id, spec_id, version, resource ->> 'key' as resource_key
    from in_use join spec_versions using (org_id, spec_id, version), json_array_elements(spec_json -> 'resources') resource)`;

const resourcesAndOutcomes = sql`
  join pinned on pinned.org_id = connections.org_id and pinned.spec_id = connections.spec_id
    and pinned.version = connections.pinned_spec_version
  left join lanes on lanes.org_id = connections.org_id and lanes.connection_id = connections.id
    and lanes.resource_key = pinned.resource_key
  left join lateral (
    select status from runs where lane_id = lanes.id and status in ('succeeded', 'partial', 'failed')
    order by seq desc limit 1) ended on true`;

const factsOf = ({
  inProgress,
  overdue,
  hasQuarantined: has,
}: Readonly<Record<'inProgress' | 'overdue' | 'hasQuarantined', RawBuilder<unknown>>>): RawBuilder<unknown> => sql`
  jsonb_agg(distinct jsonb_build_object(
    'inProgress', coalesce(${inProgress}, false), 'attemptsFail', ${attemptsFail}, 'hasQuarantined', ${has},
    'lastOutcome', ended.status, 'overdue', ${overdue})) as facts`;
