import { type RawBuilder, sql } from 'kysely';
import type { ResourceFacts } from '../../../src/core/schedule/freshness.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { expectedInterval, lastSuccess, overdueNow } from './freshness.ts';

/** What decides the health of one resource. */
export interface HealthFacts extends Pick<ResourceFacts, 'inProgress' | 'lastOutcome'> {
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

/**
 * The facts of connections, for all resources of their pinned specs. What the overrides of a connection add is left
 * out: no document is read for each connection, only one for each version in use.
 */
const healthOf = (scope: OrgScope, which: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  with in_use as materialized (
    select distinct spec_id, pinned_spec_version as version from connections
    where connections.org_id = ${scope.orgId} and connections.deleted_at is null and ${which}),
  pinned as materialized (
    select spec_id, version, resource ->> 'key' as resource_key
    from in_use join spec_versions using (spec_id, version), json_array_elements(spec_json -> 'resources') resource
    where spec_versions.org_id = ${scope.orgId})
  select connections.id, max(success.finished_at) as last_success_at,
    jsonb_agg(distinct jsonb_build_object(
      'inProgress', coalesce(running.in_progress, false), 'lastOutcome', ended.status,
      'overdue', ${overdueNow})) as facts
  from connections
  join pinned on pinned.spec_id = connections.spec_id and pinned.version = connections.pinned_spec_version
  left join lanes on lanes.org_id = connections.org_id and lanes.connection_id = connections.id
    and lanes.resource_key = pinned.resource_key
  left join lateral (
    select status from runs where lane_id = lanes.id and status in ('succeeded', 'partial', 'failed')
    order by seq desc limit 1) ended on true
  left join lateral (
    select exists (select 1 from runs where lane_id = lanes.id and status = 'running')
      or exists (select 1 from runs where lane_id = lanes.id and status = 'queued') as in_progress) running on true
  left join lateral (${lastSuccess}) success on true
  left join lateral (${expectedInterval(sql.ref('pinned.resource_key'))}) expected on true
  where connections.org_id = ${scope.orgId} and connections.deleted_at is null and ${which}
  group by connections.id`;
