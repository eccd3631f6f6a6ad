import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../src/dev/embedded/ports.ts';
import { identify } from '../../src/dev/embedded/process-table.ts';
import type { ReadyFacts } from '../../src/dev/ready-file.ts';
import { runAdmin } from '../support/service/admin.ts';
import { eventually } from '../support/service/eventually.ts';
import { memoryFolder } from '../support/service/memory-folder.ts';
import { type Sample, scrape } from '../support/service/scrape.ts';
import { nothingLeft, type SupervisorProcess, startSupervisor } from './supervisor-process.ts';

let dataDir = '';
let port = 0;
beforeEach(async () => {
  dataDir = mkdtempSync(join(memoryFolder(), 'connector-sync-start-'));
  port = await freePort(3700);
});
afterEach(async () => {
  await nothingLeft(dataDir);
  rmSync(dataDir, { recursive: true, force: true });
});

function start(settings: NodeJS.ProcessEnv = {}): SupervisorProcess {
  const env = {
    ...settings,
    DATA_DIR: dataDir,
    PORT: String(port),
    DATABASE_URL: undefined,
    TEMPORAL_ADDRESS: undefined,
    NODE_ENV: 'test',
  };
  return startSupervisor({ command: process.execPath, args: ['scripts/run.mjs', 'src/start.ts'], env });
}

const isInfo = ({ name }: Sample): boolean => name === 'connector_sync_process_info';

const readyPath = (): string => join(dataDir, 'ready.json');
const readReady = (): ReadyFacts => JSON.parse(readFileSync(readyPath(), 'utf8'));

async function whenReady(supervisor: SupervisorProcess): Promise<ReadyFacts> {
  await supervisor.line('apiUrl');
  return readReady();
}

const running = ({ pids }: ReadyFacts): readonly boolean[] =>
  Object.values(pids).map((pid: number | null) => pid !== null && identify(pid) !== null);

const allGone = (ready: ReadyFacts): Promise<boolean> =>
  eventually('all processes gone', async () => running(ready).every((up) => !up), { timeoutMs: 120_000 });

/** Those of the API, and at the next port those of the worker. */
async function expectMetricsAt(metricsPort: number): Promise<void> {
  const processes = await Promise.all(
    [metricsPort, metricsPort + 1].map(async (one) => (await scrape(one)).samples.find(isInfo)?.labels['process']),
  );
  expect(processes).toEqual(['api', 'worker']);
}

/** The codec endpoint that the UI is told; it decrypts only for who knows its token. */
async function expectReadableUi({ uiUrl }: ReadyFacts): Promise<void> {
  const settings = (await (await fetch(`${uiUrl}/api/v1/settings`)).json()) as {
    readonly Codec: { readonly Endpoint: string };
  };
  // A name of another site that leads here. `fetch` sends no other Host than that of the address.
  expect(await statusOf(`${uiUrl}/api/v1/settings`, 'evil.example')).toBe(421);
  expect(settings.Codec.Endpoint).toMatch(new RegExp(`^http://localhost:${port}/api/codec/[\\w-]{43}$`));
  const decoded = await fetch(`${settings.Codec.Endpoint}/decode`, { method: 'POST', body: '{"payloads":[]}' });
  expect([decoded.status, await decoded.json()]).toEqual([200, { payloads: [] }]);
}

async function statusOf(url: string, host: string): Promise<number | undefined> {
  const asked = request(url, { headers: { host } }).end();
  const [response] = await once(asked, 'response');
  response.resume();
  return response.statusCode;
}

/** A database of `database create` is reached although its address is private, and no EGRESS_ALLOW was given. */
async function expectOpenDatabases({ apiUrl, databaseUrl }: ReadyFacts): Promise<void> {
  const admin = async (...args: readonly string[]) =>
    JSON.parse((await runAdmin({ ...process.env, DATABASE_URL: databaseUrl }, ...args, '--json')).stdout);
  const { apiKey, workspaces } = await admin('org', 'create', '--name', 'Acme');
  const { databaseUrl: url } = await admin('database', 'create', '--name', 'globex');
  // oxlint-disable-next-line typescript/no-explicit-any -- responses of several endpoints
  const post = async (path: string, body: object = {}): Promise<any> => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const response = await fetch(`${apiUrl}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const said = await response.json();
    expect(response.ok, JSON.stringify(said)).toBe(true);
    return said;
  };
  await post('/specs', {
    metadata: { key: 'things', name: 'Things', version: '1.0.0' },
    connectionParams: [{ key: 'databaseUrl', type: 'string', secret: true }],
    http: { baseUrl: 'https://things.invalid' },
    resources: [{ key: 'things', primaryKey: 'id', request: { path: '/' } }],
    destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
  });
  await post('/specs/things/versions/1.0.0/publish');
  const { id } = await post('/connections', {
    workspaceId: workspaces[0].id,
    specKey: 'things',
    specVersion: '1.0.0',
    displayName: 'Globex',
    params: {},
    secrets: { databaseUrl: url },
  });
  const { steps } = await post(`/connections/${id}/test`);
  expect(steps).toContainEqual(expect.objectContaining({ step: 'destination', ok: true }));
}

/** Kills the worker; the pid of the next one as soon as it is noted. */
async function replacedWorker({ pids }: ReadyFacts): Promise<number> {
  process.kill(pids.worker ?? 0, 'SIGKILL');
  return await eventually('a new worker', async () => {
    const now = readReady().pids.worker;
    return now !== pids.worker && now;
  });
}

describe('npm start', () => {
  // One start for four: each takes 5 s of CPU.
  it('writes ready.json when all is ready, serves metrics, lets the Temporal UI decrypt what it shows, starts a killed worker again, and on Ctrl-C stops all, removes it and exits 0', async () => {
    const metricsPort = await freePort(9600);
    await using supervisor = start({ METRICS_PORT: String(metricsPort) });
    const ready = await whenReady(supervisor);
    expect(ready).toMatchObject({ apiUrl: `http://127.0.0.1:${port}`, temporalNamespace: 'default' });
    expect(Object.keys(ready.pids)).toEqual(['supervisor', 'api', 'worker', 'postgres', 'temporal']);
    expect(running(ready)).toEqual([true, true, true, true, true]);
    expect(statSync(readyPath()).mode & 0o777).toBe(0o600);
    expect((await fetch(`${ready.apiUrl}/api/health/ready`)).status).toBe(200);
    await expectMetricsAt(metricsPort);
    await expectReadableUi(ready);
    await expectOpenDatabases(ready);
    const replaced = { ...ready, pids: { ...ready.pids, worker: await replacedWorker(ready) } };
    expect(running(replaced)).toEqual([true, true, true, true, true]);
    expect(readReady().pids).toEqual(replaced.pids);
    supervisor.killGroup('SIGINT');
    expect(await supervisor.ended()).toBe(0);
    expect(running(replaced)).toEqual([false, false, false, false, false]);
    expect(existsSync(readyPath())).toBe(false);
  });

  it('leaves nothing running when the launcher is killed', async () => {
    await using supervisor = start();
    const ready = await whenReady(supervisor);
    supervisor.kill('SIGKILL');
    expect(await allGone(ready)).toBe(true);
  });

  it('leaves nothing running when the supervisor is killed', async () => {
    await using supervisor = start();
    const ready = await whenReady(supervisor);
    process.kill(ready.pids.supervisor, 'SIGKILL');
    expect(await allGone(ready)).toBe(true);
  });

  it('names the folder to delete when another version made the database, and starts once it is deleted', async () => {
    await using first = start();
    const client = new pg.Client({ connectionString: (await whenReady(first)).databaseUrl });
    await client.connect();
    await client.query(`update kysely_migration set name = '0004_runs' where name = '0008_runs'`);
    await client.end();
    first.kill('SIGTERM');
    await first.ended();
    await using second = start();
    expect(await second.ended()).toBe(1);
    expect(second.stderr()).toContain('does not have its migration 0004_runs');
    const [, folder = ''] = /delete the folder (\S+)\./.exec(second.stderr()) ?? [];
    expect(existsSync(join(folder, 'PG_VERSION'))).toBe(true);
    rmSync(folder, { recursive: true });
    await using third = start();
    await whenReady(third);
    third.kill('SIGTERM');
    expect(await third.ended()).toBe(0);
  });

  it('names the taken port and how to choose another', async () => {
    const server = createServer();
    await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
    await using supervisor = start();
    expect(await supervisor.ended()).toBe(1);
    expect(supervisor.stderr()).toContain(`Port ${port} of 127.0.0.1 is taken`);
    expect(supervisor.stderr()).toContain('PORT=');
    server.close();
  });
});
