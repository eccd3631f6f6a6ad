import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, closeSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { type SupervisedProcess, type Surroundings, superviseProcess } from '../supervised-process.ts';
import { awaitResponse } from './await-response.ts';
import { freePort } from './ports.ts';
import { postgresBinaries } from './postgres-binaries.ts';
import { type Cluster, lastPort, postgresStop, postgresUser, prepareCluster } from './postgres-cluster.ts';
import { postgresOwner, reachableFolder } from './postgres-owner.ts';
import { type ServerLog, serverLog } from './server-log.ts';

/** First port tried for new data; never 5432, where a developer's own server may be. */
const preferredPort = 54_329;
const databaseName = 'connector_sync';
/** In milliseconds: recovery after a crash replays the write-ahead log before the server responds. */
const startMs = 60_000;

export interface EmbeddedPostgres {
  /** `postgres://…` with the password, as superuser. */
  readonly databaseUrl: string;
  readonly process: SupervisedProcess;
}

/** Outside of `dataDir` when root's is closed to PostgreSQL's user. */
export const postgresFolder = (dataDir: string, surroundings: Pick<Surroundings, 'log'>): string =>
  reachableFolder(join(dataDir, 'postgres'), postgresOwner(surroundings.log));

/**
 * Uses the next free port from its last one, or 54329.
 * @throws Error with the end of its log when it does not start.
 */
export async function startPostgres(dataDir: string, surroundings: Surroundings): Promise<EmbeddedPostgres> {
  const { log } = surroundings;
  const owner = postgresOwner(log);
  // Another user must pass through our folder, not read it; its secrets have mode 0600.
  if (owner) chmodSync(dataDir, statSync(dataDir).mode | 0o001);
  const dataFolder = postgresFolder(dataDir, surroundings);
  if (dirname(dataFolder) !== dataDir)
    log.info('PostgreSQL keeps its data where its user can reach it', { dataFolder });
  const programs = postgresBinaries(owner, dataDir);
  const cluster = await prepareCluster({ dataFolder, owner }, join(dataDir, 'postgres-password'), programs.initdb);
  const output = serverLog(join(dataDir, 'logs', 'postgres.log'));
  const startOn = async (port: number): Promise<EmbeddedPostgres | null> => {
    const spawnServer = () => run(programs.postgres, cluster, { port, output });
    const server = superviseProcess(
      { name: 'postgres', stop: postgresStop, rank: 2, spawn: spawnServer },
      surroundings,
    );
    const ask = () => ensureDatabase(urlOf(cluster, port, 'postgres'));
    const response = awaitResponse({ ask, child: server.current(), timeoutMs: startMs });
    if (await response.catch(() => false)) return { databaseUrl: urlOf(cluster, port, databaseName), process: server };
    await server.stop();
    // Another program may take the port between check and start.
    if (output.says('address already in use')) return null;
    throw new Error(`PostgreSQL does not start:\n${output.tail()}`);
  };
  for (let port = await freePort(lastPort(dataFolder) ?? preferredPort); ; port = await freePort(port + 1)) {
    const started = await startOn(port);
    if (started) return started;
  }
}

interface RunOptions {
  readonly port: number;
  readonly output: ServerLog;
}

/** Own process group: Ctrl-C stops the supervisor, which stops the server last. */
function run(program: string, { dataFolder, owner }: Cluster, { port, output }: RunOptions): ChildProcess {
  const settings = { listen_addresses: '127.0.0.1', unix_socket_directories: '', max_connections: '200' };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const file = output.open();
  try {
    const args = ['-D', dataFolder, '-p', String(port), ...flags];
    return spawn(program, args, { ...owner, cwd: dataFolder, detached: true, stdio: ['ignore', file, file] });
  } finally {
    closeSync(file);
  }
}

/** Also probes whether the server responds and is ours: the password must fit. */
async function ensureDatabase(adminUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl, connectionTimeoutMillis: 2000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [databaseName]);
    if (rowCount === 0) await client.query(`create database ${databaseName}`);
  } finally {
    await client.end();
  }
}

const urlOf = ({ password }: Cluster, port: number, database: string): string =>
  `postgres://${postgresUser}:${password}@127.0.0.1:${port}/${database}`;
