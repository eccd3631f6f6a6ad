import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { identify, isRunning } from '../embedded/process-table.ts';
import type { ReadyFacts } from '../ready-file.ts';

/** The service as `npm start` runs it. Disposing stops it, its databases and Temporal. */
export interface Service extends AsyncDisposable {
  readonly ready: ReadyFacts;
  /** `null` between two lives. */
  workerPid(): number | null;
  /** Resolves at the worker's end; the supervisor restarts it. */
  killWorker(): Promise<void>;
}

export interface ServiceOptions {
  readonly dataDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly signal: AbortSignal;
}

const program = fileURLToPath(new URL('../../start.ts', import.meta.url));
const pollMs = 25;
const logLinesShown = 12;

/** @throws Error with the end of the log when the service ends before `ready.json` exists. */
export async function startService({ dataDir, env, logFile, signal }: ServiceOptions): Promise<Service> {
  mkdirSync(dataDir, { recursive: true });
  const child = launch(logFile, env);
  const readyFile = join(dataDir, 'ready.json');
  const killed = new Set<number>();
  const stop = () => stopChild(child);
  const workerPid = (): number | null => {
    const pid = readReady(readyFile)?.pids.worker ?? null;
    return pid === null || killed.has(pid) ? null : pid;
  };
  try {
    return {
      ready: await untilReady(child, readyFile, { logFile, signal }),
      workerPid,
      killWorker: async () => {
        const worker = identify(workerPid() ?? -1);
        if (!worker) return;
        killed.add(worker.pid);
        process.kill(worker.pid, 'SIGKILL');
        while (isRunning(worker)) await sleep(pollMs);
      },
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The IPC channel tells the service when this process ends for any reason. */
function launch(logFile: string, env: NodeJS.ProcessEnv): ChildProcess {
  const log = openSync(logFile, 'w');
  try {
    return spawn(process.execPath, [...process.execArgv, program], { env, stdio: ['ignore', log, log, 'ipc'] });
  } finally {
    closeSync(log);
  }
}

async function untilReady(
  child: ChildProcess,
  readyFile: string,
  { logFile, signal }: Pick<ServiceOptions, 'logFile' | 'signal'>,
): Promise<ReadyFacts> {
  while (isUp(child)) {
    const facts = readReady(readyFile);
    // A killed supervisor leaves its file behind.
    if (facts !== null && facts.pids.supervisor === child.pid) return facts;
    await sleep(pollMs, undefined, { signal });
  }
  const end = readFileSync(logFile, 'utf8').trim().split('\n').slice(-logLinesShown).join('\n');
  throw new Error(`The service did not start. The end of ${logFile}:\n${end}`);
}

/** Moved in whole, and only by our own supervisor. */
const readReady = (path: string): ReadyFacts | null =>
  existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as ReadyFacts) : null;

const isUp = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;

async function stopChild(child: ChildProcess): Promise<void> {
  if (!isUp(child)) return;
  const ended = new Promise((done) => child.once('exit', done));
  child.kill('SIGTERM');
  await ended;
}
