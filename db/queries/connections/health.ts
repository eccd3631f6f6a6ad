import { type RawBuilder, sql } from 'kysely';
import type { ConnectionStatus } from '../../../src/core/resources/connection.ts';
import type { ResourceFacts } from '../../../src/core/schedule/freshness.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { attemptsFail, expectedInterval, hasQuarantined, lastSuccess, overdueNow } from './freshness.ts';

/** What decides the health of one resource. */
export interface HealthFacts
  extends Pick<ResourceFacts, 'inProgress' | 'attemptsFail' | 'hasQuarantined' | 'lastOutcome'> {
  readonly overdue: boolean;
}

/** What decides the health of some connections: the different facts among the resources of each. */
export interface ConnectionHealth {
  readonly connectionId: string;
  readonly facts: readonly HealthFacts[];
  /** When any of its resources succeeded last; null: none did. */
  readonly lastSuccessAt: string | null;
}

/** The facts of each of these connections; those that are absent or of another org are missing. */
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

/** Connections that share the same facts. */
export interface HealthGroup extends Pick<ConnectionHealth, 'facts'> {
  readonly connections: number;
  /** The ids of some of them. */
  readonly sample: readonly string[];
}

/** How many connections of the org there are of each set of facts; paused ones are left out. */
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

/** Connections of all orgs that share a status and facts; counts and ages only. */
export interface StatusHealth extends Pick<ConnectionHealth, 'facts'> {
  readonly status: ConnectionStatus;
  readonly connections: number;
  /**
   * The seconds since the last success, or else the first run, of the resource whose newest outcome is a failure and for
   * which they are the most; null: there is no such resource.
   */
  readonly failingSeconds: number | null;
}

/**
 * How many connections of the deployment there are of each status and set of facts. It looks at the newest runs of each lane
 * by indexes, so it costs as much as there are connections, and not as there are runs. A resource is overdue as the sweeper
 * has noted it. Records in quarantine do not count: they wait for the org, not for the operator.
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

/**
 * The facts of connections, for all resources of their pinned specs. What the overrides of a connection add is left
 * out: no document is read for each connection, only one for each version in use.
 */
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

/** The resources of the versions that these rows of `connections` are pinned to, as the table `pinned`. */
const pinnedResources = (which: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  in_use as materialized (
    select distinct org_id, spec_id, pinned_spec_version as version from connections where ${which}),
  pinned as materialized (
    select org_id, spec_id, version, resource ->> 'key' as resource_key
    from in_use join spec_versions using (org_id, spec_id, version), json_array_elements(spec_json -> 'resources') resource)`;

/** Joins a row of `connections` with its resources, their lanes, and how each of them ended last. */
const resourcesAndOutcomes = sql`
  join pinned on pinned.org_id = connections.org_id and pinned.spec_id = connections.spec_id
    and pinned.version = connections.pinned_spec_version
  left join lanes on lanes.org_id = connections.org_id and lanes.connection_id = connections.id
    and lanes.resource_key = pinned.resource_key
  left join lateral (
    select status from runs where lane_id = lanes.id and status in ('succeeded', 'partial', 'failed')
    order by seq desc limit 1) ended on true`;

/** The column `facts` over the rows of {@link resourcesAndOutcomes}. */
const factsOf = ({
  inProgress,
  overdue,
  hasQuarantined: has,
}: Readonly<Record<'inProgress' | 'overdue' | 'hasQuarantined', RawBuilder<unknown>>>): RawBuilder<unknown> => sql`
  jsonb_agg(distinct jsonb_build_object(
    'inProgress', coalesce(${inProgress}, false), 'attemptsFail', ${attemptsFail}, 'hasQuarantined', ${has},
    'lastOutcome', ended.status, 'overdue', ${overdue})) as facts`;
