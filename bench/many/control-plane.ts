/** The service as `npm start` runs it, on data of its own: API, worker, embedded PostgreSQL, Temporal's dev server. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { Kysely } from 'kysely';
import pg from 'pg';
import { openDatabase } from '../../db/client.ts';
import type { Database } from '../../db/schema.ts';
import { loadConfig } from '../../src/config/config.ts';
import { startEmbedded } from '../../src/dev/embedded/services.ts';
import type { ReadyFacts } from '../../src/dev/ready-file.ts';
import { createLog } from '../../src/log.ts';
import { testDatabaseUrl } from '../../test/support/service/database-server.ts';
import { startServiceProcess } from '../../test/support/service/service-process.ts';
import { unusedPort } from '../../test/support/service/temporal-dev-server.ts';
import { postgresPid, type Roots } from '../support/usage.ts';

/** The running service. Disposing stops it and removes its data. */
export interface ControlPlane extends AsyncDisposable {
  readonly apiUrl: string;
  readonly db: Kysely<Database>;
  /** One session that asks how far runs are; its CPU is known, so that it counts for nobody. */
  readonly watcher: pg.Client;
  readonly temporal: Client;
  readonly temporalAddress: string;
  readonly pids: Roots<ProcessName>;
  /** The process that starts the others again. */
  readonly supervisor: number;
  /** The ends of all logs, for a bench that failed. */
  tail(): string;
}

/** Whose CPU is counted; `postgres` includes the session of `watcher`. */
export type ProcessName = 'temporal' | 'worker' | 'api' | 'postgres' | 'destination' | 'watcher';

/** As the launcher starts every process. */
const nodeFlags = ['--max-semi-space-size=24'];

/** Starts it; the databases of the test server and these addresses are let through. */
export async function startControlPlane(allow: readonly string[]): Promise<ControlPlane> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'connector-sync-many-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const env = {
    ...process.env,
    DATABASE_URL: '',
    TEMPORAL_ADDRESS: '',
    DATA_DIR: folder,
    HOST: '127.0.0.1',
    PORT: String(await unusedPort()),
    EGRESS_ALLOW: [testDatabaseUrl().host, ...allow].join(','),
  };
  await preloadStatistics(env);
  const plan = { name: 'start', command: process.execPath, args: [...nodeFlags, 'src/start.ts'], env };
  const started = startServiceProcess({ ...plan, watchesParent: true });
  stack.defer(() => started.destroy());
  stack.defer(() => started.kill('SIGTERM'));
  await started.logged('"message":"ready"');
  const ready: ReadyFacts = JSON.parse(await readFile(join(folder, 'ready.json'), 'utf8'));
  const connection = stack.adopt(await Connection.connect({ address: ready.temporalAddress }), (open) => open.close());
  const watcher = stack.adopt(new pg.Client({ connectionString: ready.databaseUrl }), (open) => open.end());
  await watcher.connect();
  const db = stack.adopt(
    openDatabase(ready.databaseUrl, { poolSize: 2, applicationName: 'bench', onIdleError() {} }),
    (open) => open.destroy(),
  );
  const pids = await pidsOf(ready, watcher);
  const opened = stack.move();
  return {
    ...{ apiUrl: ready.apiUrl, db, watcher, temporal: new Client({ connection }), pids },
    temporalAddress: ready.temporalAddress,
    supervisor: ready.pids.supervisor,
    tail: () => started.tail(),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** PostgreSQL loads its statistics of statements only when it starts; they count nothing until they are asked to. */
async function preloadStatistics(env: NodeJS.ProcessEnv): Promise<void> {
  const config = loadConfig({ ...env, TEMPORAL_ADDRESS: 'unused:1' });
  const services = await startEmbedded(config, createLog({ level: 'warn', name: 'bench' }));
  const client = new pg.Client({ connectionString: services.databaseUrl });
  await client.connect();
  await client.query('create extension pg_stat_statements').catch(() => undefined);
  await client.query("alter system set shared_preload_libraries = 'pg_stat_statements'");
  await client.end();
  await services.stop();
}

async function pidsOf({ pids }: ReadyFacts, watcher: pg.Client): Promise<Roots<ProcessName>> {
  const { temporal, worker, api, postgres } = pids;
  if (temporal === null || worker === null || api === null || postgres === null)
    throw new Error('A process of the service is not there');
  const { rows } = await watcher.query<{ pid: number }>('select pg_backend_pid() as pid');
  const destination = await postgresPid(testDatabaseUrl().href);
  return { temporal, worker, api, postgres, destination, watcher: rows[0]?.pid ?? 0 };
}
