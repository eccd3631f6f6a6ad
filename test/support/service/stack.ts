/**
 * The whole service as processes: API and workers, a control database and a Temporal server of the test's own. What
 * a test does to a process (SIGKILL, SIGSTOP) is what would happen to it in production; the product has no hooks.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Kysely } from 'kysely';
import type { Database } from '../../../db/schema.ts';
import { formatKeyRing, type KeyRing } from '../../../src/config/key-ring.ts';
import { createOrg } from '../../../src/control/orgs/orgs.ts';
import { createDataConverter } from '../../../src/temporal/data-converter.ts';
import type { Call, TestOrg } from './api.ts';
import { openExistingDatabase, openTestDatabase } from './database.ts';
import { testDatabaseUrl } from './database-server.ts';
import { memoryFolder } from './memory-folder.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';
import { startTemporalDevServer, type TemporalDevServer, unusedPort } from './temporal-dev-server.ts';

/** A running service with one org, for tests that leave its processes and settings as they are. */
export interface Service {
  readonly db: Kysely<Database>;
  readonly temporal: Pick<TemporalDevServer, 'client'>;
  readonly org: TestOrg;
  /** `http://127.0.0.1:<port>`. */
  readonly apiUrl: string;
  /** One more org. */
  newOrg(): Promise<TestOrg>;
  /** The ends of all logs, for a test that failed. */
  tails(): string;
}

/** A service whose processes a test may end, freeze and start. Disposing leaves nothing behind. */
export interface Stack extends Service, AsyncDisposable {
  /** Of the control database. */
  readonly databaseUrl: string;
  readonly temporal: TemporalDevServer;
  /** The encryption keys it was started with. */
  readonly keyRing: KeyRing;
  /** The environment of its processes, for commands. */
  readonly env: NodeJS.ProcessEnv;
  /** Starts one more worker, with settings of its own if any. Resolves when it polls. */
  startWorker(settings?: Settings): Promise<ServiceProcess>;
  /** Starts one more API, on a port of its own (`PORT` in the settings). Resolves when it responds. */
  startApi(settings: Settings): Promise<ServiceProcess>;
  /** Stops the API as a deployment does, and starts it with these settings. Resolves when it responds. */
  restartApi(settings: Settings): Promise<ServiceProcess>;
  /** Sends a signal to the worker that was started last; see {@link ServiceProcess.kill}. */
  killWorker(signal: NodeJS.Signals): Promise<void>;
  /** The worker that was started last. */
  worker(): ServiceProcess;
  /** All workers ever started, dead ones too. */
  workers(): readonly ServiceProcess[];
  /** The API, as it was started last. */
  api(): ServiceProcess;
}

type Settings = Readonly<Record<string, string>>;

/** What a test decides before the start. */
export interface StackOptions {
  /** `host:port` of fake customer APIs; the database server is always let through. */
  readonly allow: readonly string[];
  /** Workers at the start; 1 unless given. */
  readonly workers?: number;
  /** Settings of the service that differ from its defaults. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where its processes find the control database, if not at its own address. */
  readonly pooled?: (databaseUrl: string) => string;
  /** A migrated control database that is there, and stays; one of its own unless given. */
  readonly databaseUrl?: string;
  /** The encryption keys of that database. */
  readonly keyRing?: KeyRing;
  /** Takes each line that a process of the service writes, and the name of the process. */
  readonly onLine?: (process: string, line: string) => void;
  /** Dynamic configuration of the Temporal server, beside that of `temporal-dev.yaml`. */
  readonly temporal?: Readonly<Record<string, string>>;
}

/** Starts everything; resolves when the API responds and the workers poll. */
export async function startStack({ allow, workers = 1, env: settings = {}, ...options }: StackOptions): Promise<Stack> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(memoryFolder(), 'connector-sync-stack-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const database = stack.use(
    await (options.databaseUrl === undefined ? openTestDatabase() : openExistingDatabase(options.databaseUrl)),
  );
  const keyRing = options.keyRing ?? [{ id: 'k1', key: new Uint8Array(randomBytes(32)) }];
  const temporal = stack.use(await startTemporalDevServer(folder, options.temporal, createDataConverter(keyRing)));
  const port = await unusedPort();
  const addresses = { databaseUrl: options.pooled?.(database.url) ?? database.url, temporalAddress: temporal.address };
  const env = { ...environment({ allow, port, folder, keyRing, ...addresses }), ...settings };
  const processes: ServiceProcess[] = [];
  stack.defer(async () => void (await Promise.all(processes.map((process) => process.destroy()))));
  const startNode = async (name: string, { ready, own = {} }: { readonly ready: string; readonly own?: Settings }) => {
    const plan = { name, command: process.execPath, args: [`src/${name}.ts`], env: { ...env, ...own } };
    const onLine = options.onLine && ((line: string) => options.onLine?.(name, line));
    const started = startServiceProcess({ ...plan, onLine, watchesParent: true });
    processes.push(started);
    await started.logged(ready);
    return started;
  };
  const startWorker = (own: Settings = {}) => startNode('worker', { ready: 'worker ready', own });
  await Promise.all([
    startNode('api-server', { ready: 'api ready' }),
    ...Array.from({ length: workers }, () => startWorker()),
  ]);
  const apiUrl = `http://127.0.0.1:${port}`;
  const org = await createTestOrg(database.db, apiUrl);
  const lastOf = (name: string) => {
    const last = processes.findLast((process) => process.name === name);
    if (!last) throw new Error(`No ${name} was started`);
    return last;
  };
  const worker = () => lastOf('worker');
  const opened = stack.move();
  return {
    db: database.db,
    databaseUrl: database.url,
    temporal,
    org,
    newOrg: () => createTestOrg(database.db, apiUrl),
    keyRing,
    api: () => lastOf('api-server'),
    apiUrl,
    env,
    startWorker,
    startApi: (own) => startNode('api-server', { ready: 'api ready', own }),
    async restartApi(own) {
      await lastOf('api-server').kill('SIGTERM');
      return await startNode('api-server', { ready: 'api ready', own });
    },
    worker,
    workers: () => processes.filter(({ name }) => name === 'worker'),
    killWorker: (signal) => worker().kill(signal),
    tails: () => [temporal, ...processes].map((process) => process.tail()).join('\n'),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

interface Surroundings {
  readonly allow: readonly string[];
  readonly port: number;
  readonly folder: string;
  readonly keyRing: KeyRing;
  readonly databaseUrl: string;
  readonly temporalAddress: string;
}

function environment({ allow, port, folder, keyRing, databaseUrl, temporalAddress }: Surroundings): NodeJS.ProcessEnv {
  return {
    ...process.env,
    HOST: '127.0.0.1',
    PORT: String(port),
    DATA_DIR: folder,
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporalAddress,
    SECRETS_KEYS: formatKeyRing(keyRing),
    EGRESS_ALLOW: [testDatabaseUrl().host, ...allow].join(','),
    LOG_LEVEL: 'info',
  };
}

async function createTestOrg(db: Kysely<Database>, apiUrl: string): Promise<TestOrg> {
  const { org, workspaces, apiKey } = await createOrg(
    { db },
    { name: 'Test', plan: 'standard', activeConnectionsMax: null },
  );
  const [workspace] = workspaces;
  if (!workspace) throw new Error('An org has workspaces.');
  return { orgId: org.id, workspaceId: workspace.id, apiKey: apiKey.key, call: callOver(apiUrl, apiKey.key) };
}

/** The REST client; every response is JSON. */
function callOver(apiUrl: string, ownKey: string): Call {
  return async (method, path, { body, headers = {}, apiKey = ownKey } = {}) => {
    const credential = apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };
    const response = await fetch(`${apiUrl}/api/v1${path}`, {
      method,
      headers: { ...credential, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
}
