import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../db/client.ts';
import { countAllConnections } from '../../db/queries/connections/health.ts';
import { readDatabaseBytes } from '../../db/queries/maintenance/database-size.ts';
import { readBacklog } from '../../db/queries/runs/maintenance/backlog.ts';
import { countAllEndpoints } from '../../db/queries/webhooks/endpoints.ts';
import manifest from '../../package.json' with { type: 'json' };
import { noteOverdueFlips } from '../../src/maintenance/overdue-sweep.ts';
import { serveMetrics } from '../../src/telemetry/metrics/metrics.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { endRunAs } from '../support/service/ended-run.ts';
import { type Scrape, scrape } from '../support/service/scrape.ts';
import { unusedPort } from '../support/service/temporal-dev-server.ts';
import { createActiveConnection, createConnection, publishSpec } from '../support/upstream/api-fixtures.ts';

let api: TestApi;
let orgs: readonly [TestOrg, TestOrg];
beforeAll(async () => {
  api = await startApi();
  orgs = [await api.newOrg(), await api.newOrg()];
  for (const org of orgs) await publishSpec(org);
  await fill();
});
afterAll(() => api[Symbol.asyncDispose]());

/** Requests a run, and lets it end as a worker would. */
async function run(org: TestOrg, connectionId: string, status: 'succeeded' | 'partial' | 'failed', secondsAgo = 0) {
  const { body } = await org.call('POST', `/connections/${connectionId}/sync`, { body: { resource: 'items' } });
  await endRunAs(api.deps.db, body.id, { status, endedSecondsAgo: secondsAgo });
  const at = sql<string>`now() - make_interval(secs => ${secondsAgo})`;
  await api.deps.db.updateTable('runs').set({ createdAt: at }).where('id', '=', body.id).execute();
}

/** Succeeded so long ago that its hourly schedule is overdue, and noted so by the sweeper. */
async function overdue(org: TestOrg, connectionId: string) {
  await run(org, connectionId, 'succeeded', 3 * 3600);
  const schedule = { resourceKey: 'items', cron: '0 * * * *' };
  const { body } = await org.call('POST', `/connections/${connectionId}/schedules`, { body: schedule });
  const made = sql<string>`now() - interval '30 days'`;
  await api.deps.db
    .updateTable('schedules')
    .set({ createdAt: made, firesSince: null })
    .where('id', '=', body.id)
    .execute();
}

/** Two orgs with connections of each kind. */
async function fill(): Promise<void> {
  const [acme, other] = orgs;
  const { db, log, orchestrator } = api.deps;
  await createConnection(acme);
  await createActiveConnection(acme);
  await run(acme, await createActiveConnection(acme), 'succeeded');
  await run(other, await createActiveConnection(other), 'succeeded');
  await run(acme, await createActiveConnection(acme), 'partial');
  const syncing = await createActiveConnection(other);
  await other.call('POST', `/connections/${syncing}/sync`, { body: { resource: 'items' } });
  const failing = await createActiveConnection(other);
  await run(other, failing, 'succeeded', 90_000);
  await run(other, failing, 'failed');
  const neverSynced = await createActiveConnection(acme);
  await run(acme, neverSynced, 'failed', 200_000);
  await run(acme, neverSynced, 'failed', 100);
  const late = await createActiveConnection(acme);
  const [refused, paused, deleted] = [
    await createActiveConnection(acme),
    await createActiveConnection(other),
    await createActiveConnection(other),
  ];
  for (const [org, id] of [
    [acme, late],
    [acme, refused],
    [other, paused],
    [other, deleted],
  ] as const)
    await overdue(org, id);
  await noteOverdueFlips({ db, log, orchestrator });
  await run(acme, refused, 'failed', 50);
  await db
    .updateTable('connections')
    .set({ status: 'error', errorSince: sql<string>`now()` })
    .where('id', '=', refused)
    .execute();
  await other.call('POST', `/connections/${paused}/pause`);
  await db.updateTable('connections').set({ deletedAt: sql<string>`now()` }).where('id', '=', deleted).execute();
  const since = sql<string>`now() - make_interval(secs => 7000)`;
  await db.updateTable('lanes').set({ overdueSince: since }).where('connectionId', '=', late).execute();
}

/** A scrape of a process on a database, after what happens in it. */
async function scrapeOf(db = api.deps.db, happens = () => Promise.resolve()): Promise<Scrape> {
  const port = await unusedPort();
  await using _metrics = await serveMetrics({
    host: '127.0.0.1',
    port,
    log: api.deps.log,
    process: 'api',
    poolCounts: () => ({ size: 1, open: 0, idle: 0, waiting: 0 }),
    evaluators: api.deps.evaluators,
    slotCounts: null,
    coreAddress: null,
    readBacklog: () => readBacklog(db),
    readTotals: async () => ({
      connections: await countAllConnections(db),
      endpoints: await countAllEndpoints(db),
      databaseBytes: await readDatabaseBytes(db),
    }),
    reachTemporal: () => Promise.resolve(),
  });
  await happens();
  return await scrape(port);
}

const counts = ({ samples }: Scrape, name: string) =>
  samples
    .filter((sample) => sample.name === name && sample.value > 0)
    .map(({ labels, value }) => [...Object.values(labels).filter((label) => label !== ''), value].join(' '))
    .toSorted();

describe('a scrape of one process', () => {
  it('counts the connections of all orgs, with the health that the API says', async () => {
    const shown = await scrapeOf();
    const said: string[] = [];
    for (const org of orgs) {
      for (const { id, status } of (await org.call('GET', '/connections')).body) {
        const { body } = await org.call('GET', `/connections/${id}/freshness`);
        said.push(`${status} ${body.freshness.health}`);
      }
    }
    const expected = [...Map.groupBy(said, (each) => each)].map(([each, all]) => `${each} ${all.length}`).toSorted();
    expect(counts(shown, 'connector_sync_connections')).toEqual(expected);
    expect(expected).toEqual([
      'active degraded 2',
      'active failing 2',
      'active healthy 2',
      'active pending 1',
      'active syncing 1',
      'error failing 1',
      'paused degraded 1',
      'pending pending 1',
    ]);
  });

  it('says for how long a resource fails: since its last success, or since its first run', async () => {
    const { value } = await scrapeOf();
    const seconds = (status: string) =>
      Math.floor((value('connector_sync_longest_failing_seconds', { status }) ?? -1) / 600);
    expect(seconds('active')).toBe(Math.floor(200_000 / 600));
    expect(seconds('error')).toBe(18);
    expect(seconds('paused')).toBe(0);
  });

  it('says how many resources are overdue and for how long, where the connection is meant to sync', async () => {
    const shown = await scrapeOf();
    expect(counts(shown, 'connector_sync_overdue_resources')).toEqual(['active 1', 'error 1']);
    const age = shown.value('connector_sync_oldest_overdue_resource_seconds', { status: 'active' });
    expect(age).toBeGreaterThan(6999);
    expect(age).toBeLessThan(7600);
  });

  it('counts the endpoints of all orgs by their state', async () => {
    const { db } = api.deps;
    const made: string[] = [];
    for (const org of [...orgs, ...orgs, ...orgs]) {
      const { body } = await org.call('POST', '/webhook-endpoints', { body: { url: 'https://93.184.215.14/' } });
      made.push(body.id);
    }
    const [failing = '', probing = '', deleted = ''] = made;
    const now = sql<string>`now()`;
    const endpoint = (id: string) => db.updateTable('webhookEndpoints').where('id', '=', id);
    await endpoint(failing).set({ enabled: false, disabledReason: 'failing' }).execute();
    await endpoint(probing).set({ probingSince: now, nextProbeAt: now }).execute();
    await endpoint(deleted).set({ deletedAt: now }).execute();
    const shown = counts(await scrapeOf(), 'connector_sync_webhook_endpoints');
    expect(shown).toEqual(['disabled failing 1', 'ok 3', 'probing 1']);
  });

  it('says how large the control database is, and of which version the process is', async () => {
    const { value } = await scrapeOf();
    const before = value('connector_sync_control_database_bytes') ?? 0;
    await sql`create table filler as select repeat(md5(n::text), 100) as text from generate_series(1, 2000) n`.execute(
      api.deps.db,
    );
    expect((await scrapeOf()).value('connector_sync_control_database_bytes')).toBeGreaterThan(before + 100_000);
    const { version } = manifest;
    expect(value('connector_sync_process_info', { process: 'api', version })).toBe(1);
  });

  it('shows no number while the control database is away', async () => {
    const db = openDatabase('postgres://127.0.0.1:1/none', { poolSize: 1, applicationName: 'test', onIdleError() {} });
    const { value } = await scrapeOf(db);
    await db.destroy();
    expect(value('connector_sync_control_database_up')).toBe(0);
    for (const name of ['connections', 'longest_failing_seconds', 'webhook_endpoints'])
      expect(value(`connector_sync_${name}`)).toBeUndefined();
    expect(value('connector_sync_control_database_bytes')).toBeNaN();
  });

  it('counts what the control database refuses because its disk is full, or its connections are spent', async () => {
    const { db } = api.deps;
    const role = `spent_${Date.now()}`;
    await sql`create role ${sql.id(role)} login password 'p' connection limit 0`.execute(db);
    const url = new URL(api.databaseUrl);
    Object.assign(url, { username: role, password: 'p' });
    const spent = openDatabase(url.href, { poolSize: 1, applicationName: 'test', onIdleError() {} });
    const { value } = await scrapeOf(db, async () => {
      await expect(sql`select 1`.execute(spent)).rejects.toThrow('too many connections');
      const full = sql`do $$ begin raise exception 'could not extend file: No space left' using errcode = '53100'; end $$`;
      await expect(full.execute(db)).rejects.toThrow('No space left');
    });
    await spent.destroy();
    await sql`drop role ${sql.id(role)}`.execute(db);
    for (const reason of ['disk_full', 'too_many_connections'])
      expect(value('connector_sync_database_refusals_total', { reason })).toBe(1);
  });
});
