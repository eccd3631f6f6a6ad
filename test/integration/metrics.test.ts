import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { controlQueue } from '../../workflows/contract.ts';
import { eventually } from '../support/service/eventually.ts';
import { type Scrape, scrape } from '../support/service/scrape.ts';
import { unusedPort } from '../support/service/temporal-dev-server.ts';
import { useStack } from '../support/service/use-stack.ts';
import { createSync, type Sync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

const root = join(import.meta.dirname, '../..');
const collections = {
  contacts: generateRecords(250),
  deals: generateRecords(1200),
  // Its transform is no plain expression, so a child process evaluates it.
  notes: generateRecords(90),
  large: generateRecords(3000),
};
const shared = useStack({ collections }, { workers: 0 });
const ports = { api: 0, worker: 0 };
let syncs: readonly Sync[] = [];

const startWorker = () => shared().stack.startWorker({ METRICS_PORT: String(ports.worker) });

beforeAll(async () => {
  const { stack, upstream } = shared();
  ports.api = await unusedPort();
  ports.worker = await unusedPort();
  await stack.restartApi({ METRICS_PORT: String(ports.api) });
  await startWorker();
  syncs = await Promise.all([
    createSync(stack, { upstream, collection: 'contacts', perPage: 50 }),
    createSync(stack, { upstream, collection: 'deals' }),
    createSync(stack, {
      upstream,
      collection: 'notes',
      transform: "{ 'id': id, 'name': $join($map([name], $uppercase)) }",
    }),
  ]);
});

/** What the rows say that the counters shall say. */
async function countRows() {
  const { rows } = await sql<Record<string, number>>`
    select count(*)::int as runs, sum(records_in)::int as read, sum(records_out)::int as out, sum(skipped)::int as skipped,
      sum(quarantined)::int as quarantined, (select count(*) from call_log where status_code = 200)::int as ok,
      (select count(*) from call_log where status_code = 429)::int as limited,
      (select count(*) from call_log where status_code = 503)::int as failed
    from runs where status = 'succeeded'`.execute(shared().stack.db);
  return rows[0];
}

/** Of all runs, ended or not. */
const recordsRead = async (): Promise<number> => {
  const { rows } = await sql<{ read: number }>`select sum(records_in)::int as read from runs`.execute(
    shared().stack.db,
  );
  return rows[0]?.read ?? 0;
};

const countersOf = ({ value }: Scrape) => ({
  runs: value('connector_sync_runs_total', { status: 'succeeded', trigger: 'manual' }),
  read: value('connector_sync_records_in_total'),
  out: value('connector_sync_records_out_total'),
  skipped: value('connector_sync_records_skipped_total'),
  quarantined: value('connector_sync_records_quarantined_total'),
  ok: value('connector_sync_upstream_request_duration_seconds_count', { result: '2xx' }),
  limited: value('connector_sync_upstream_request_duration_seconds_count', { result: '429' }),
  failed: value('connector_sync_upstream_request_duration_seconds_count', { result: '5xx' }),
});

describe('GET /metrics', () => {
  it('says of a worker under load what the rows say: runs, records, requests and waits', async () => {
    const { upstream } = shared();
    upstream.failAt(upstream.journal.length + 3, { kind: 'status', status: 429, retryAfter: 1 });
    upstream.failAt(upstream.journal.length + 5, { kind: 'status', status: 503 });
    const rounds = Array.from({ length: 4 }, () => syncs).flat();
    const ended = await Promise.all(rounds.map(async (sync) => sync.ended(await sync.request())));
    expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(['succeeded']));
    const made = await eventually('every run is counted', async () => {
      const seen = await scrape(ports.worker);
      return countersOf(seen).runs === rounds.length && seen;
    });
    expect(countersOf(made)).toEqual(await countRows());
    const { value } = made;
    expect(value('connector_sync_waits_total', { reason: 'retry_after' })).toBe(1);
    expect(value('connector_sync_wait_seconds_total', { reason: 'retry_after' })).toBe(1);
    expect(value('connector_sync_waits_total', { reason: 'backoff' })).toBe(1);
    for (const name of ['run_duration', 'run_queue']) {
      expect(value(`connector_sync_${name}_seconds_count`, { trigger: 'manual' })).toBe(rounds.length);
    }
    expect(
      value('connector_sync_batch_duration_seconds_count', { destination: 'postgres', result: 'applied' }),
    ).toBeGreaterThan(2);
    expect(value('connector_sync_evaluators')).toBeGreaterThan(0);
    expect(value('connector_sync_run_slots_max')).toBe(20);
    expect(value('connector_sync_database_connections_max')).toBe(10);
    expect(value('connector_sync_database_connections')).toBeGreaterThan(0);
    expect(value('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
    // Of the core of Temporal's SDK, in the same response.
    expect(value('temporal_num_pollers', { task_queue: 'css-sync' })).toBeGreaterThan(0);
  });

  it('says of the API which routes were asked, and that database and Temporal respond', async () => {
    const { value } = await scrape(ports.api);
    const route = '/api/v1/connections/:id/sync';
    expect(value('connector_sync_api_requests_total', { method: 'POST', route, status: '202' })).toBeGreaterThanOrEqual(
      12,
    );
    expect(value('connector_sync_control_database_up')).toBe(1);
    expect(value('connector_sync_temporal_up')).toBe(1);
    expect(value('connector_sync_process_info', { process: 'api' })).toBe(1);
  });

  it('names no org, connection, resource, host or run', async () => {
    const { stack, upstream } = shared();
    const texts = await Promise.all([scrape(ports.api), scrape(ports.worker)]);
    const names = [stack.org.orgId, stack.org.apiKey, ...syncs.map(({ connectionId }) => connectionId)];
    const ofSpecs = ['contacts', 'deals', 'notes', upstream.hostPort];
    for (const { text } of texts) {
      expect([...names, ...ofSpecs].filter((name) => text.includes(name))).toEqual([]);
      expect(text).not.toMatch(/\b(?:org|con|run|spec|whe|evt)_[0-9a-hjkmnp-tv-z]{26}/);
    }
  });

  it('counts nothing twice when a worker is killed in the middle of a run and another one continues', async () => {
    const { stack, upstream } = shared();
    const sync = await createSync(stack, { upstream, collection: 'large' });
    const held = upstream.hold(upstream.journal.length + 12);
    const runId = await sync.request();
    await held.reached;
    const before = await eventually('what is recorded is counted', async () => {
      const { value } = await scrape(ports.worker);
      const read = value('connector_sync_records_in_total');
      return (await sync.recordedPages(runId)) >= 5 && read === (await recordsRead()) && read;
    });
    await stack.killWorker('SIGKILL');
    held.release();
    await startWorker();
    expect(await sync.ended(runId)).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 3000 } });
    const after = await eventually('the run is counted by the second worker', async () => {
      const { value } = await scrape(ports.worker);
      return (
        value('connector_sync_runs_total', { status: 'succeeded' }) === 1 && value('connector_sync_records_in_total')
      );
    });
    expect(before + after).toBe(await recordsRead());
    await sync[Symbol.asyncDispose]();
  });

  it('is nowhere else at that port, and not at the port of the API', async () => {
    const { apiUrl } = shared().stack;
    const asked = [`http://127.0.0.1:${ports.api}/`, `http://127.0.0.1:${ports.worker}/healthz`, `${apiUrl}/metrics`];
    const statuses = await Promise.all(asked.map(async (url) => (await fetch(url)).status));
    expect(statuses).toEqual([404, 404, 404]);
  });
});

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook_url: string };
}

const readEveryRule = async (): Promise<readonly (Pick<Rule, 'expr'> & Partial<Rule>)[]> =>
  parse(await readFile(join(root, 'deploy/prometheus/alerts.yaml'), 'utf8')).groups.flatMap(
    ({ rules }: { readonly rules: readonly Rule[] }) => rules,
  );

/** The alerts, without what is only recorded for them. */
const readRules = async (): Promise<readonly Rule[]> =>
  (await readEveryRule()).filter((rule): rule is Rule => rule.alert !== undefined);

/** The names of metrics in an expression of PromQL. */
const metricsIn = (expr: string): readonly string[] =>
  expr.match(/\b(?:connector_sync|temporal|nodejs|process)_\w+/g) ?? [];

describe('the alert rules and the dashboard', () => {
  it('read only metrics that a scrape has', async () => {
    // A workflow that no worker knows: its tasks fail, as they do after a wrong deployment.
    const { client } = shared().stack.temporal;
    const broken = await client.workflow.start('noSuchWorkflow', { workflowId: 'broken', taskQueue: controlQueue });
    const failed = 'temporal_workflow_task_execution_failed_total';
    const worker = await eventually('the failed task is counted', async () => {
      const made = await scrape(ports.worker);
      return made.value(failed) !== undefined && made;
    });
    await broken.terminate();
    const known = new Set([worker, await scrape(ports.api)].flatMap(({ samples }) => samples.map(({ name }) => name)));
    const dashboard = await readFile(join(root, 'deploy/grafana/connector-sync.json'), 'utf8');
    const rules = await readEveryRule();
    const read = [...rules.flatMap(({ expr }) => metricsIn(expr)), ...metricsIn(dashboard)];
    expect(new Set(read).size).toBeGreaterThan(40);
    expect([...new Set(read)].filter((name) => !known.has(name))).toEqual([]);
    const page = await readFile(join(root, 'docs/operations/metrics.md'), 'utf8');
    const own = [...new Set([...known].map(withoutSuffix))].filter((name) => name.startsWith('connector_sync_'));
    expect(own.filter((name) => !page.includes(`\`${name.slice('connector_sync_'.length)}\``))).toEqual([]);
  });

  it('look only at the jobs of the service, whatever else a Prometheus scrapes', async () => {
    const selectors = (await readEveryRule()).flatMap(
      ({ expr }) => expr.match(/\b(?:connector_sync|temporal|nodejs|process)_\w+(?:\{[^}]*)?/g) ?? [],
    );
    expect(selectors.length).toBeGreaterThan(50);
    expect(selectors.filter((selector) => !selector.includes('{job=~".*connector-sync.*"'))).toEqual([]);
  });

  it('lead to a section of their own that says what to do', async () => {
    const page = await readFile(join(root, 'docs/operations/alerts.md'), 'utf8');
    const sections = [...page.matchAll(/^## (\w+)$/gm)].map(([, name = '']) => name);
    const rules = await readRules();
    expect(rules.map(({ alert }) => alert)).toEqual(sections);
    for (const { alert, annotations } of rules) {
      expect(annotations.runbook_url).toBe(`docs/operations/alerts.md#${alert.toLowerCase()}`);
    }
  });

  it('fire when the worker stops, as the API sees it, and no longer once a worker is back', async () => {
    const { stack } = shared();
    const [sync] = syncs;
    const rule = (await readRules()).find(({ alert }) => alert === 'ConnectorSyncRunsUnattended');
    const { metric = '', limit } = /^max\((?<metric>\w+)\{.*\}\) > (?<limit>\d+)$/.exec(rule?.expr ?? '')?.groups ?? {};
    const read = async () => (await scrape(ports.api)).value(metric) ?? Number.NaN;
    expect(await read()).toBeLessThan(Number(limit));
    await stack.worker().kill('SIGTERM');
    await expect(scrape(ports.worker)).rejects.toThrow('fetch failed');
    const runId = await sync?.request();
    // As if it had been requested ten minutes ago.
    const then = sql<string>`now() - interval '10 minutes'`;
    await stack.db
      .updateTable('runs')
      .set({ createdAt: then, dispatchedAt: then })
      .where('id', '=', runId ?? '')
      .execute();
    const firing = await eventually('the alert fires', async () => {
      const seconds = await read();
      return seconds > Number(limit) && seconds;
    });
    expect(firing).toBeGreaterThan(590);
    expect((await scrape(ports.api)).value('connector_sync_queued_runs', { trigger: 'manual' })).toBe(1);
    await startWorker();
    await eventually('the alert is over', async () => (await read()) <= Number(limit));
    expect((await sync?.ended(runId ?? ''))?.status).toBe('succeeded');
  });
});

const withoutSuffix = (name: string): string => name.replace(/_(?:bucket|sum|count)$/, '');
