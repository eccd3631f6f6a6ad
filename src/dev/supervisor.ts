import { type ChildProcess, spawn } from 'node:child_process';
import { get } from 'node:http';
import { fileURLToPath } from 'node:url';
import { migrateToLatest, UnknownMigrationError } from '../../db/migrate.ts';
import type { Config } from '../config/config.ts';
import type { Log } from '../log.ts';
import { awaitResponse } from './embedded/await-response.ts';
import { isPortFree } from './embedded/ports.ts';
import { postgresFolder } from './embedded/postgres.ts';
import { killGroup } from './embedded/process-table.ts';
import { startEmbedded } from './embedded/services.ts';
import { type ReadyFacts, readyFile, type StackPids } from './ready-file.ts';
import { type SupervisedProcess, superviseProcess } from './supervised-process.ts';

type ProcessName = 'api' | 'worker';

export interface StackOptions {
  readonly config: Config;
  readonly log: Log;
  /** The addresses of embedded services are added. */
  readonly env: NodeJS.ProcessEnv;
  /** This project's own programs if absent. */
  readonly programs?: Readonly<Record<ProcessName, string>>;
}

export interface Stack {
  readonly ready: ReadyFacts;
  pids(): StackPids;
  restart(name: ProcessName): Promise<void>;
  kill(name: ProcessName, signal: NodeJS.Signals): void;
  /** Stops the api, then the worker, then Temporal and PostgreSQL. */
  stop(): Promise<void>;
}

/** The message explains in full why the stack cannot start. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** For a first start on a slow, busy machine. */
const readyMs = 60_000;
/** In milliseconds: a worker gives its chunks 30 s to reach a page boundary. */
const stopMs = { api: 15_000, worker: 35_000 } as const;

const ownPrograms = {
  api: fileURLToPath(new URL('../api-server.ts', import.meta.url)),
  worker: fileURLToPath(new URL('../worker.ts', import.meta.url)),
};

/**
 * Processes that die are restarted.
 * @throws StartError, DataDirInUseError when it cannot start; anything started is stopped again.
 */
export async function startStack({ config, log, env, programs = ownPrograms }: StackOptions): Promise<Stack> {
  await using stack = new AsyncDisposableStack();
  const ready = readyFile(config.dataDir);
  const services = await startEmbedded(config, log, { onStart: () => ready.update() });
  stack.defer(() => services.stop());
  ready.remove();
  if (!(await isPortFree(config.port, config.host))) throw portTaken(config);
  const { applied } = await migrate(services.databaseUrl, { config, log });
  log.info('migrations applied', { applied });

  const childEnv = {
    ...env,
    DATA_DIR: config.dataDir,
    PORT: String(config.port),
    ...services.env,
    ...(config.databaseUrl === null && { EGRESS_ALLOW: withDatabases(env['EGRESS_ALLOW'], services.databaseUrl) }),
  };
  // Two processes on one machine cannot share a port.
  const workerEnv =
    config.metricsPort === null ? childEnv : { ...childEnv, METRICS_PORT: String(config.metricsPort + 1) };
  const surroundings = { guardian: services.guardian, log, onStart: () => ready.update() };
  const supervise = (name: ProcessName): SupervisedProcess => {
    const stop = { signal: 'SIGTERM', timeoutMs: stopMs[name] } as const;
    const ownEnv = name === 'worker' ? workerEnv : childEnv;
    const plan = { name, stop, rank: 0, spawn: () => run(programs[name], ownEnv), isProbed: !isDebugged(childEnv) };
    const started = superviseProcess(plan, surroundings);
    return stack.adopt(started, () => started.stop());
  };
  const worker = supervise('worker');
  const api = supervise('api');
  const apiUrl = `http://${config.host === '0.0.0.0' ? '127.0.0.1' : config.host}:${config.port}`;
  await Promise.all([
    untilReady('api', api, () => requireOk(`${apiUrl}/api/health/ready`)),
    untilReady('worker', worker, announced(worker.current())),
  ]);

  const pids = (): StackPids => ({ supervisor: process.pid, api: api.pid(), worker: worker.pid(), ...services.pids() });
  const { uiUrl, temporalAddress, temporalNamespace, databaseUrl } = services;
  const facts = () => ({ apiUrl, uiUrl, temporalAddress, temporalNamespace, databaseUrl, pids: pids() });
  ready.write(facts);
  stack.defer(() => ready.remove());
  log.info('ready', facts());
  log.info(
    `open ${apiUrl}/console with an API key of: npm run --silent admin -- org create --name Acme; the reference is ${apiUrl}/api/reference`,
  );
  const running = stack.move();
  const processes = { api, worker };
  return {
    ready: facts(),
    pids,
    restart: (name) => processes[name].restart(),
    kill: (name, signal) => processes[name].kill(signal),
    stop: () => running.disposeAsync(),
  };
}

/** Also allows the databases of `database create`, each of which has a login of its own. */
const withDatabases = (allowed: string | undefined, databaseUrl: string): string =>
  [allowed, new URL(databaseUrl).host].filter(Boolean).join(',');

/** Throws StartError for a database of another version. */
async function migrate(databaseUrl: string, { config, log }: Pick<StackOptions, 'config' | 'log'>) {
  try {
    return await migrateToLatest(databaseUrl);
  } catch (error) {
    if (!(error instanceof UnknownMigrationError)) throw error;
    const isEmbedded = config.databaseUrl === null;
    const remedy = isEmbedded ? ` To empty it, delete the folder ${postgresFolder(config.dataDir, { log })}.` : '';
    throw new StartError(`${error.message}${remedy}`, { cause: error });
  }
}

/** A process at a breakpoint is rightly silent; the flag is inherited by every process. */
const isDebugged = ({ NODE_OPTIONS = '' }: NodeJS.ProcessEnv): boolean =>
  [...process.execArgv, NODE_OPTIONS].some((options) => options.includes('--inspect'));

/** Own process group, so that Ctrl-C reaches it only through the supervisor, in order, and no child outlives it. */
function run(program: string, env: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn(process.execPath, [...process.execArgv, program], {
    env,
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  // An evaluator amid an expression does not notice the end of its process.
  child.once('close', () => child.pid !== undefined && killGroup(child.pid));
  return child;
}

async function untilReady(name: ProcessName, started: SupervisedProcess, ask: () => Promise<void>): Promise<void> {
  const child = started.current();
  const response = awaitResponse({ ask, child, timeoutMs: readyMs });
  const responded = await response.catch((cause: unknown) => {
    throw new StartError(`The ${name} was not ready within ${readyMs / 1000} s`, { cause });
  });
  if (responded) return;
  throw new StartError(
    `The ${name} ended with ${child.exitCode ?? child.signalCode} before it was ready; its lines above say why.`,
  );
}

/** The worker may have no port to probe, so it announces when it polls. */
function announced(child: ChildProcess): () => Promise<void> {
  let ready = false;
  child.on('message', () => {
    ready = true;
  });
  return () => (ready ? Promise.resolve() : Promise.reject(new Error('not announced yet')));
}

function requireOk(url: string): Promise<void> {
  return new Promise((done, fail) => {
    const request = get(url, { agent: false, timeout: 2000 }, (response) => {
      response.resume();
      if (response.statusCode === 200) done();
      else fail(new Error(`${url} responded with ${response.statusCode}`));
    });
    request.once('error', fail);
    request.once('timeout', () => request.destroy(new Error(`${url} did not respond`)));
  });
}

const portTaken = ({ port, host }: Config): StartError =>
  new StartError(
    `Port ${port} of ${host} is taken, so the API cannot listen: stop what uses it, or start with PORT=<another>.`,
  );
