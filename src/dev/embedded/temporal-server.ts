import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { chmodSync, closeSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { type SupervisedProcess, type Surroundings, superviseProcess } from '../supervised-process.ts';
import { awaitResponse } from './await-response.ts';
import { freePort } from './ports.ts';
import { commandLine, identify, stopProcess } from './process-table.ts';
import { type ServerLog, serverLog } from './server-log.ts';
import { findTemporalCli } from './temporal-cli.ts';
import {
  readTemporalDevFile,
  type TemporalDevSettings,
  temporalDevEnv,
  temporalDevFile,
  temporalFlags,
} from './temporal-dev-file.ts';
import { serveTemporalUi } from './temporal-ui.ts';

/** A Temporal dev server of ours. */
export interface EmbeddedTemporal {
  /** `host:port` of the gRPC frontend. */
  readonly address: string;
  readonly namespace: string;
  /** The Temporal UI, under its own names only. */
  readonly uiUrl: string;
  readonly ui: AsyncDisposable;
  readonly process: SupervisedProcess;
}

/** What the server is started from. */
export interface TemporalOptions extends Surroundings {
  readonly dataDir: string;
  readonly cacheDir: string;
  /** Path of the CLI; null: it is looked for. */
  readonly temporalCli: string | null;
  /** Where the UI has payloads decrypted. */
  readonly codecEndpoint: string;
}

/** The time for a start in milliseconds; 0.3 s is usual, the first on a slow disk takes longer. */
const startMs = 60_000;
/** It takes 1.3 s to wind up polls that nobody waits for any more; its data survive a SIGKILL (SQLite's journal). */
const stop = { signal: 'SIGTERM', timeoutMs: 100 } as const;

/**
 * Starts the dev server as `temporal-dev.yaml` says, with its data in `dataDir`. A port of the file that is taken
 * gives way to the next free one.
 * @throws Error with the end of its log when it does not start.
 */
export async function startTemporal(options: TemporalOptions): Promise<EmbeddedTemporal> {
  const { dataDir, cacheDir, temporalCli, codecEndpoint, log } = options;
  const program = await findTemporalCli({ temporalCli, cacheDirs: [cacheDir, join(dataDir, 'cache')], log });
  const settings = readTemporalDevFile(temporalDevFile);
  const database = join(dataDir, 'temporal.db');
  const note = join(dataDir, 'temporal.pid');
  await stopLeftover(note, database);
  const output = serverLog(join(dataDir, 'logs', 'temporal.log'));
  const startOn = async (ports: Ports): Promise<EmbeddedTemporal | null> => {
    const found = placesOf(settings, ports);
    const innerUi = await innerPlace(ports);
    const ui = await serveTemporalUi({ ip: found.ip, port: ports.ui }, innerUi);
    if (ui === null) return null;
    await using stack = new AsyncDisposableStack();
    stack.use(ui);
    const args = argumentsOf(settings, { database, ports, innerUi, codecEndpoint });
    const spawnServer = () => run(program, args, { note, output });
    const server = superviseProcess({ name: 'temporal', stop, rank: 1, spawn: spawnServer }, options);
    const ask = () => describeNamespace(found, output);
    const response = awaitResponse({ ask, child: server.current(), timeoutMs: startMs });
    if (await response.catch(() => false)) {
      // One that was there before, from a backup perhaps, may be open to others.
      chmodSync(database, 0o600);
      stack.move();
      return { ...found, ui, process: server };
    }
    await server.stop();
    // Somebody may take a port between the check and the start.
    if (output.says('address already in use')) return null;
    throw new Error(`The Temporal dev server does not start:\n${output.tail()}`);
  };
  for (let ports = await freePorts(portsOf(settings)); ; ports = await freePorts(ports)) {
    const started = await startOn(ports);
    if (started) return started;
  }
}

interface Ports {
  readonly grpc: number;
  readonly ui: number;
}

/** The ports of the server, by default never Temporal's own 7233 and 8233, where a developer's own server may be. */
function portsOf({ cli }: TemporalDevSettings): Ports {
  return { grpc: Number(cli['port'] ?? 7244), ui: Number(cli['ui-port'] ?? 8244) };
}

const freePorts = async ({ grpc, ui }: Ports): Promise<Ports> => ({
  grpc: await freePort(grpc),
  ui: await freePort(ui),
});

/** Where the server is, from outside. */
interface Places extends Pick<EmbeddedTemporal, 'address' | 'uiUrl' | 'namespace'> {
  readonly ip: string;
}

function placesOf({ cli }: TemporalDevSettings, { grpc, ui }: Ports): Places {
  const ip = cli['ip'] ?? '127.0.0.1';
  return { ip, address: `${ip}:${grpc}`, uiUrl: `http://${ip}:${ui}`, namespace: cli['namespace'] ?? 'default' };
}

/**
 * Where the server itself serves its UI: at a port that nobody knows, and on Linux, where all of 127.0.0.0/8 is this machine,
 * at an address that no page of another site can guess either.
 */
async function innerPlace({ grpc, ui }: Ports): Promise<{ readonly ip: string; readonly port: number }> {
  const [a = 1, b = 1, c = 1] = randomBytes(3);
  const ip = process.platform === 'linux' ? `127.${a}.${b}.${(c % 254) + 1}` : '127.0.0.1';
  for (;;) {
    const port = await freePort(randomInt(20_000, 30_000));
    if (port !== grpc && port !== ui) return { ip, port };
  }
}

interface ServerPlaces extends Pick<TemporalOptions, 'codecEndpoint'> {
  readonly database: string;
  readonly ports: Ports;
  readonly innerUi: { readonly ip: string; readonly port: number };
}

/** The CLI reads the file itself; flags add what the file cannot say to it, and what differs here. */
function argumentsOf(
  settings: TemporalDevSettings,
  { database, ports, innerUi, codecEndpoint }: ServerPlaces,
): readonly string[] {
  return [
    ...['server', 'start-dev', '--env-file', temporalDevFile, '--env', temporalDevEnv, '--db-filename', database],
    ...['--port', String(ports.grpc), '--ui-ip', innerUi.ip, '--ui-port', String(innerUi.port)],
    ...['--ui-codec-endpoint', codecEndpoint],
    ...temporalFlags(settings),
  ];
}

interface RunOptions {
  /** File that says which process runs on the data. */
  readonly note: string;
  readonly output: ServerLog;
}

/**
 * Own process group: Ctrl-C stops the supervisor, which stops the server after its clients. What it writes is for nobody
 * else to read.
 */
function run(program: string, args: readonly string[], { note, output }: RunOptions): ChildProcess {
  const file = output.open();
  const umask = process.umask(0o077);
  try {
    const child = spawn(program, args, { detached: true, stdio: ['ignore', file, file] });
    writeFileSync(note, String(child.pid ?? ''));
    return child;
  } finally {
    process.umask(umask);
    closeSync(file);
  }
}

/** Stops a server that a supervisor left running on this data when both it and its guardian were killed. */
async function stopLeftover(note: string, database: string): Promise<void> {
  if (!existsSync(note)) return;
  const pid = Number(readFileSync(note, 'utf8'));
  const server = pid > 0 && commandLine(pid)?.includes(database) === true ? identify(pid) : null;
  if (server) await stopProcess(server, stop);
}

/** Who responds at the address may be another server that took the port: ours has said in its log that it listens. */
async function describeNamespace({ address, namespace }: Places, output: ServerLog): Promise<void> {
  if (!output.says('Temporal Server:')) throw new Error('not listening yet');
  const connection = await Connection.connect({ address, connectTimeout: 2000 });
  try {
    await connection.workflowService.describeNamespace({ namespace });
  } finally {
    await connection.close();
  }
}
