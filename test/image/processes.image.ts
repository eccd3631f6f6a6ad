import { randomBytes } from 'node:crypto';
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestOrg } from '../support/service/api.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';
import { testDatabaseUrl } from '../support/service/database-server.ts';
import { eventually } from '../support/service/eventually.ts';
import { scrape } from '../support/service/scrape.ts';
import type { ServiceProcess } from '../support/service/service-process.ts';
import type { Service } from '../support/service/stack.ts';
import { startTemporalDevServer, type TemporalDevServer, unusedPort } from '../support/service/temporal-dev-server.ts';
import { createSync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/records.ts';
import { startUpstream, type Upstream } from '../support/upstream/upstream.ts';
import { unpackedImage } from './unpacked-image.ts';

const image = unpackedImage();
const opened = new AsyncDisposableStack();
let database: TestDatabase;
let temporal: TemporalDevServer;
let upstream: Upstream;
let env: NodeJS.ProcessEnv;
let metricsPorts: Readonly<Record<'api' | 'worker', number>>;
let api: ServiceProcess;
let worker: ServiceProcess;
let org: TestOrg;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'connector-sync-image-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  database = opened.use(await openTestDatabase());
  await sql`drop schema public cascade`.execute(database.db);
  await sql`create schema public`.execute(database.db);
  temporal = opened.use(await startTemporalDevServer(folder));
  upstream = opened.use(
    await startUpstream({ collections: { people: generateRecords(5000), places: generateRecords(500) } }),
  );
  env = {
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporal.address,
    SECRETS_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    EGRESS_ALLOW: `${testDatabaseUrl().host},${upstream.hostPort}`,
    HOST: '127.0.0.1',
    PORT: String(await unusedPort()),
    WORKER_HEALTH_PORT: String(await unusedPort()),
  };
  metricsPorts = { api: await unusedPort(), worker: await unusedPort() };
});
afterAll(() => opened.disposeAsync());

/** A line that deploy/verify.sh prints. */
const note = (line: string): Promise<void> => appendFile(process.env['IMAGE_NOTES'] ?? '/dev/null', `${line}\n`);

/** Starts a process and notes how long it takes until it logs that it works. */
async function start(
  name: 'api' | 'worker',
  own: NodeJS.ProcessEnv = {},
  what: string = name,
): Promise<ServiceProcess> {
  const startedAt = performance.now();
  const started = image.start(name, { ...env, METRICS_PORT: String(metricsPorts[name]), ...own });
  opened.defer(() => started.destroy());
  await started.logged(`${name} ready`);
  await note(`${what} of the image is ready after ${((performance.now() - startedAt) / 1000).toFixed(2)} s`);
  return started;
}

/** One more worker, beside the first, that is ready. The caller stops it. */
const startSecond = async (what: string, own: NodeJS.ProcessEnv): Promise<ServiceProcess> =>
  start('worker', { WORKER_HEALTH_PORT: String(await unusedPort()), METRICS_PORT: '', ...own }, what);

const isOk = async (url: string): Promise<boolean> => (await fetch(url)).ok;

/** What Linux knows of the process under `tini`. */
async function statusOf({ pid }: ServiceProcess): Promise<Readonly<Record<string, string>>> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  const status = await readFile(`/proc/${children.trim()}/status`, 'utf8');
  return Object.fromEntries(status.split('\n').map((line) => line.split(/:\s+/) as [string, string]));
}

describe('the image', () => {
  it('brings an empty control database up to date, and finds nothing to do the second time', async () => {
    expect(await image.run(['connector-sync', 'migrate'], env)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^applied:\n/),
    });
    expect(await image.run(['connector-sync', 'migrate'], env)).toMatchObject({ stdout: 'nothing to apply\n' });
  });

  it('has no healthy process before one is started', async () => {
    expect(await image.run(['connector-sync', 'health'], env)).toMatchObject({ exitCode: 1 });
  });

  it('starts an API that is ready', async () => {
    api = await start('api');
    expect(await isOk(`http://127.0.0.1:${env['PORT']}/api/health/ready`)).toBe(true);
    expect(await image.run(['connector-sync', 'health'], { ...env, WORKER_HEALTH_PORT: '1' })).toMatchObject({
      exitCode: 0,
    });
  });

  it('starts a worker that is ready, with the bundle that was made with the image', async () => {
    worker = await start('worker');
    await eventually('the worker is ready', () => isOk(`http://127.0.0.1:${env['WORKER_HEALTH_PORT']}/readyz`));
    expect(await image.run(['connector-sync', 'health'], { ...env, PORT: '1' })).toMatchObject({ exitCode: 0 });
    expect(worker.tail()).not.toMatch(/bundle/i);
  });

  const versioned = { CSS_DEPLOYMENT_NAME: 'image', CSS_BUILD_ID: 'b1' };
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' };
  it.each([
    ['versioned worker', versioned],
    ['worker with traces', traced],
    ['versioned worker with traces', { ...versioned, ...traced }],
  ])('starts a %s with a bundle that was made with the image, too', async (what, own) => {
    const second = await startSecond(what, own);
    expect(second.tail()).not.toMatch(/bundle/i);
    await second.kill('SIGTERM');
  });

  it.each(['/console/sign-in', '/api/reference'])('serves the page %s with all of its files', async (path) => {
    const page = await fetch(`http://127.0.0.1:${env['PORT']}${path}`);
    expect(page.status).toBe(200);
    const files = [...(await page.text()).matchAll(/(?:src|href)="([^":]+\.(?:js|css|svg))"/g)];
    expect(files.length).toBeGreaterThan(1);
    for (const [, file = ''] of files) expect([file, await isOk(new URL(file, page.url).href)]).toEqual([file, true]);
  });

  it('serves the metrics of each process at METRICS_PORT, those of Temporal’s native part too', async () => {
    expect((await scrape(metricsPorts.api)).value('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
    const { value } = await scrape(metricsPorts.worker);
    expect(value('connector_sync_run_slots_max')).toBe(20);
    expect(value('temporal_num_pollers', { task_queue: 'css-sync' })).toBeGreaterThan(0);
  });

  it('runs its processes without root and without capabilities', async () => {
    for (const started of [api, worker]) {
      const { Uid, CapEff, CapBnd, NoNewPrivs } = await statusOf(started);
      expect({ Uid, CapEff, CapBnd, NoNewPrivs }).toEqual({
        Uid: '10001\t10001\t10001\t10001',
        CapEff: '0000000000000000',
        CapBnd: '0000000000000000',
        NoNewPrivs: '1',
      });
    }
  });

  it('ran all that with a file system that cannot be written to', async () => {
    expect(await image.run(['touch', '/app/x'])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('Read-only file system'),
    });
  });

  it('creates an org by the command of operators', async () => {
    const { exitCode, stdout } = await image.run(
      ['connector-sync', 'admin', 'org', 'create', '--name', 'A', '--json'],
      env,
    );
    expect(exitCode).toBe(0);
    const { orgId, workspaces, apiKey } = JSON.parse(stdout);
    org = { orgId, workspaceId: workspaces[0].id, apiKey, call: callOver(apiKey) };
  });

  it.each([
    ['people', 5000, 'by a plain expression', undefined],
    ['places', 500, 'by an expression that needs a child process', "$map([$], function($r) {{ 'id': $r.id }})[0]"],
  ] as const)('syncs real rows: %s, %d of them, %s', async (collection, rows, _how, transform) => {
    const service: Service = {
      db: database.db,
      temporal,
      apiUrl: `http://127.0.0.1:${env['PORT']}`,
      org,
      newOrg: () => Promise.reject(new Error('one is enough')),
      tails: () => [api, worker].map((started) => started.tail()).join('\n'),
    };
    await using sync = await createSync(service, { upstream, collection, ...(transform ? { transform } : {}) });
    const startedAt = performance.now();
    const run = await sync.ended(await sync.request());
    await note(
      `${rows} rows (${collection}) are synced after ${((performance.now() - startedAt) / 1000).toFixed(2)} s`,
    );
    expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: rows } });
    expect(await sync.destination.count(collection)).toBe(rows);
  });

  it('is found in order by the operator’s doctor', async () => {
    const { exitCode, stdout } = await image.run(['connector-sync', 'admin', 'doctor'], env);
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/No faults\.\n$/)]);
  });

  it('loads the driver of SQL Server', async () => {
    expect(await image.run(['node', '-p', 'typeof require("mssql").connect'])).toMatchObject({ stdout: 'function\n' });
  });

  it('stops both processes in order when told to', async () => {
    await Promise.all([api.kill('SIGTERM'), worker.kill('SIGTERM')]);
    expect([api.exitCode(), worker.exitCode()]).toEqual([0, 0]);
  });
});

function callOver(apiKey: string): TestOrg['call'] {
  return async (method, path, { body } = {}) => {
    const response = await fetch(`http://127.0.0.1:${env['PORT']}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
}
