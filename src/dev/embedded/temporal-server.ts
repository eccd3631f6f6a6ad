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

export interface EmbeddedTemporal {
  /** `host:port` of the gRPC frontend. */
  readonly address: string;
  readonly namespace: string;
  /** The Temporal UI, under its own names only. */
  readonly uiUrl: string;
  readonly ui: AsyncDisposable;
  readonly process: SupervisedProcess;
}

export interface TemporalOptions extends Surroundings {
  readonly dataDir: string;
  readonly cacheDir: string;
  /** Path of the CLI; `null` to look for it. */
  readonly temporalCli: string | null;
  readonly codecEndpoint: string;
}

/** In milliseconds; 0.3 s is usual, the first start on a slow disk takes longer. */
const startMs = 60_000;
/** An orderly stop takes 1.3 s to end idle polls. Killing it is safe: SQLite's journal protects the data. */
const stop = { signal: 'SIGTERM', timeoutMs: 100 } as const;

/**
 * A taken port gives way to the next free one.
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
      // An existing file, for example from a backup, may be open to others.
      chmodSync(database, 0o600);
      stack.move();
      return { ...found, ui, process: server };
    }
    await server.stop();
    // Another program may take a port between check and start.
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

/** Never Temporal's own 7233 and 8233 by default, where a developer's own server may be. */
function portsOf({ cli }: TemporalDevSettings): Ports {
  return { grpc: Number(cli['port'] ?? 7244), ui: Number(cli['ui-port'] ?? 8244) };
}

const freePorts = async ({ grpc, ui }: Ports): Promise<Ports> => ({
  grpc: await freePort(grpc),
  ui: await freePort(ui),
});

interface Places extends Pick<EmbeddedTemporal, 'address' | 'uiUrl' | 'namespace'> {
  readonly ip: string;
}

function placesOf({ cli }: TemporalDevSettings, { grpc, ui }: Ports): Places {
  const ip = cli['ip'] ?? '127.0.0.1';
  return { ip, address: `${ip}:${grpc}`, uiUrl: `http://${ip}:${ui}`, namespace: cli['namespace'] ?? 'default' };
}

/**
 * Hides the server's own UI from pages of other sites: a random port and, on Linux, a random address in 127.0.0.0/8.
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

/** Only settings that the CLI does not read from the file, and those that differ here. */
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
  readonly note: string;
  readonly output: ServerLog;
}

/** Own process group: Ctrl-C stops the supervisor, which stops the server after its clients. */
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

/** Left on this data when both its supervisor and guardian were killed. */
async function stopLeftover(note: string, database: string): Promise<void> {
  if (!existsSync(note)) return;
  const pid = Number(readFileSync(note, 'utf8'));
  const server = pid > 0 && commandLine(pid)?.includes(database) === true ? identify(pid) : null;
  if (server) await stopProcess(server, stop);
}

/** Another server may have taken the port and respond there, so our log must say that ours listens. */
async function describeNamespace({ address, namespace }: Places, output: ServerLog): Promise<void> {
  if (!output.says('Temporal Server:')) throw new Error('not listening yet');
  const connection = await Connection.connect({ address, connectTimeout: 2000 });
  try {
    await connection.workflowService.describeNamespace({ namespace });
  } finally {
    await connection.close();
  }
}
