import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { readTemporalDevFile, temporalDevFile, temporalFlags } from '../../../src/dev/embedded/temporal-dev-file.ts';
import { eventually } from './eventually.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';

/** A Temporal server of the test's own, with the settings of `temporal-dev.yaml`; its data survive its end. */
export interface TemporalDevServer extends AsyncDisposable {
  readonly address: string;
  readonly client: Client;
  /** Of the process that the server is a child of. Throws while it is stopped. */
  pid(): number;
  /** SIGKILL: nothing is put in order. */
  stop(): Promise<void>;
  /** Starts it again on the same port and data unless it runs. Resolves when it responds. */
  start(): Promise<void>;
  tail(): string;
}

/**
 * Starts it with its data in `folder`; `settings` are added to the dynamic configuration of the file. The client reads
 * what is encrypted when it is given the converter of those who encrypt.
 */
export async function startTemporalDevServer(
  folder: string,
  settings: Readonly<Record<string, string>> = {},
  dataConverter: DataConverter = {},
): Promise<TemporalDevServer> {
  const command = process.env['TEMPORAL_CLI'];
  if (!command) throw new Error('TEMPORAL_CLI is not set: path of the Temporal CLI');
  const port = await unusedPort();
  const address = `127.0.0.1:${port}`;
  // Memory for time: collecting garbage rarely takes a sixth of its CPU off the server (measured).
  const env = { ...process.env, GOGC: '400' };
  const args = serverArgs(port, { file: join(folder, 'temporal.db'), settings });
  // Else the pauses between attempts to connect grow while a busy machine starts the server.
  const connection = Connection.lazy({ address, channelArgs: { 'grpc.max_reconnect_backoff_ms': 1000 } });
  let server: ServiceProcess | null = null;
  const stop = async () => {
    await server?.destroy();
    server = null;
  };
  const start = async () => {
    server ??= startServiceProcess({ name: 'temporal', command, args, env, watchesParent: false });
    const describe = () => connection.workflowService.describeNamespace({ namespace: 'default' });
    const replies = () => connection.withDeadline(Date.now() + 1000, describe);
    try {
      await eventually('Temporal responds', replies, { timeoutMs: 55_000 });
    } catch (error) {
      throw new Error(`Temporal does not respond at ${address}:\n${server.tail()}`, { cause: error });
    }
  };
  await start();
  return {
    address,
    client: new Client({ connection, dataConverter }),
    pid() {
      if (!server) throw new Error('Temporal is stopped');
      return server.pid;
    },
    stop,
    start,
    tail: () => server?.tail() ?? '',
    async [Symbol.asyncDispose]() {
      await connection.close();
      await stop();
    },
  };
}

interface ServerOptions {
  readonly file: string;
  readonly settings: Readonly<Record<string, string>>;
}

function serverArgs(port: number, { file, settings }: ServerOptions): string[] {
  const given = readTemporalDevFile(temporalDevFile);
  return [
    ...['server', 'start-dev', '--headless', '--ip', '127.0.0.1', '--port', String(port)],
    ...['--db-filename', file, '--log-level', 'error'],
    ...temporalFlags({ ...given, dynamicConfig: { ...given.dynamicConfig, ...settings } }),
  ];
}

/** Ports of one worker of the test run; none takes the port of a server that another has stopped for a while. */
const portsPerWorker = 2000;

/** Ports that this process has returned: whoever got one may not listen yet, or may stop for a while. */
const returnedPorts = new Set<number>();

/**
 * A port of 127.0.0.1 that nobody has at the moment, below those that systems give to outgoing connections: one of these
 * could take it before the server does that it is for. It is returned once.
 */
export async function unusedPort(): Promise<number> {
  const worker = Number(process.env['VITEST_POOL_ID'] ?? 0) % 6;
  for (;;) {
    const port = 20_000 + worker * portsPerWorker + randomInt(portsPerWorker);
    if (returnedPorts.has(port)) continue;
    const server = createServer();
    const isFree = await new Promise<boolean>((done) => {
      server.once('error', () => done(false)).listen(port, '127.0.0.1', () => done(true));
    });
    await new Promise((done) => server.close(done));
    if (!isFree) continue;
    if (returnedPorts.size > portsPerWorker / 2) returnedPorts.clear();
    returnedPorts.add(port);
    return port;
  }
}
