import { sql } from 'kysely';
import type { Db } from '../../../db/client.ts';
import { lockConnection } from '../../../db/queries/connections/connections.ts';
import { type OrgScope, orgScope } from '../../../db/scope.ts';
import { applyChange, type ChangeDeps } from '../../../src/control/connections/change.ts';
import { activateConnection, pauseConnection } from '../../../src/control/connections/connections.ts';
import { newId } from '../../../src/core/ids.ts';
import type { SpecUpgrade } from '../../../src/core/resources/spec.ts';
import { createLog } from '../../../src/log.ts';
import { openTestDatabase } from '../service/database.ts';
import { insertTestConnection } from '../service/rows.ts';
import { type ControlStore, realQueries, type StoreOrg } from './control-store.ts';
import type { Rows } from './observed.ts';

/** The real queries, on a database of their own. */
export async function openPostgresStore(): Promise<ControlStore> {
  const database = await openTestDatabase();
  return {
    openOrg: () => openOrg(database.db),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

async function openOrg(db: Db): Promise<StoreOrg> {
  const { orgId, connectionId } = await insertTestConnection(db);
  const scope = orgScope(orgId);
  await sql`
    insert into spec_versions (id, org_id, spec_id, version, spec_json, status, checksum)
    select ${newId('specver')}, org_id, spec_id, '2.0.0', '{"v":2}', 'published', ''
    from connections where id = ${connectionId}`.execute(db);
  const deps = depsOf(db);
  return {
    db,
    scope,
    connectionId,
    queries: realQueries,
    pause: () => pauseConnection(deps, scope, connectionId),
    activate: () => activateConnection(deps, scope, connectionId),
    upgrade: (version, plan) => upgrade(deps, scope, { connectionId, version, plan }),
    passes: (ms) => passes(db, connectionId, ms),
    rows: () => rowsOf(db, connectionId),
  };
}

/** Nothing of it is called but `cancelRun`: the org has no schedules and no endpoints, and no secrets change. */
const depsOf = (db: Db): ChangeDeps =>
  // oxlint-disable-next-line typescript/consistent-type-assertions -- see above
  ({
    db,
    orchestrator: { cancelRun: async () => undefined },
    log: createLog({ level: 'fatal', name: 'test' }),
  }) as unknown as ChangeDeps;

interface Upgrade {
  readonly connectionId: string;
  readonly version: string;
  readonly plan: SpecUpgrade['plan'];
}

const upgrade = (deps: ChangeDeps, scope: OrgScope, { connectionId: id, version, plan }: Upgrade): Promise<unknown> =>
  deps.db.transaction().execute(async (tx) => {
    const locked = await lockConnection(tx, scope, id);
    const resourceKeys = plan.resources.filter((one) => one.class !== 'breaking').map((one) => one.resourceKey);
    const values = { params: locked?.paramsJson ?? {}, secrets: {}, reseals: false };
    const checked = { plan, resourceKeys, ...values, spec: null, meanings: new Map() };
    return applyChange(deps, tx, scope, { id, checked, facts: { pinnedSpecVersion: version } });
  });

async function passes(db: Db, connectionId: string, ms: number): Promise<void> {
  const earlier = sql`make_interval(secs => ${ms / 1000})`;
  await sql`
    update runs set created_at = created_at - ${earlier}, dispatched_at = dispatched_at - ${earlier},
      ready_at = ready_at - ${earlier}, progressed_at = progressed_at - ${earlier},
      finished_at = finished_at - ${earlier}
    where connection_id = ${connectionId}`.execute(db);
  await sql`update lookup_cache set expires_at = expires_at - ${earlier} where connection_id = ${connectionId}`.execute(
    db,
  );
}

async function rowsOf(db: Db, connectionId: string): Promise<Rows> {
  const table = (name: string, order: string, filter = sql`connection_id = ${connectionId}`) => sql`
    (select coalesce(json_agg(t order by ${sql.raw(order)}), '[]') from ${sql.id(name)} t where ${filter})
      as ${sql.id(name)}`;
  const ofLanes = sql`lane_id in (select id from lanes where connection_id = ${connectionId})`;
  const ofRuns = sql`run_id in (select id from runs where connection_id = ${connectionId})`;
  const { rows } = await sql<Record<keyof Rows, readonly Record<string, unknown>[]>>`select ${sql.join([
    table('connections', 'id', sql`id = ${connectionId}`),
    table('lanes', 'resource_key'),
    table('runs', 'seq'),
    table('partitions', 'lane_id, partition', ofLanes),
    table('record_state', 'lane_id, external_id', ofLanes),
    table('record_partitions', 'lane_id, external_id, partition', ofLanes),
    table('listed_deletions', 'lane_id, external_id, partition', ofLanes),
    table('quarantine', 'id'),
    table('run_pages', '(select seq from runs where id = t.run_id), page_no', ofRuns),
    table('outboxes', 'lane_id', ofLanes),
    table('outbox_parts', 'lane_id, again, path', ofLanes),
    table('run_dimensions', '(select seq from runs where id = t.run_id), dimension, no', ofRuns),
  ])}`.execute(db);
  const [found] = rows;
  if (!found) throw new Error('no rows');
  const camel = Object.entries(found).map(([name, list]) => [name, list.map(camelRow)]);
  return Object.fromEntries(camel) as Rows;
}

const camelRow = (row: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      name === 'hash' ? Buffer.from(String(value).slice(2), 'hex').toString('base64url') : value,
    ]),
  );
