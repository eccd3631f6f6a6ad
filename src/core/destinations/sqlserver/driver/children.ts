import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError } from '../../../errors.ts';
import { containmentFlags } from '../../../work/containment-flags.ts';
import { type AskOptions, createCommands, type SendNote } from './commands.ts';
import type { Command, Report } from './messages.ts';

/** A process in which the driver runs: what a server sends can end only this process. */
export interface DriverChild {
  isAlive(): boolean;
  /** False once the network or the server has ended the connection. */
  isConnected(): boolean;
  /** Carries out a command and gives its rows. One at a time; throws what the driver threw, or an AppError. */
  ask(command: Command, options: AskOptions): Promise<readonly unknown[]>;
  /** Ends it at once. */
  kill(): void;
  /** Whether it keeps this process from ending. */
  hold(isHeld: boolean): void;
}

/** Starts one; resolves when the driver is loaded. Throws when that takes more than 30 s or fails. */
export async function startDriverChild(): Promise<DriverChild> {
  const child = fork(entry, {
    execArgv: [...driverFlags],
    env: trustStore(),
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const errorText = keepTail(child);
  const ready = Promise.withResolvers<void>();
  let isAlive = true;
  let isConnected = false;

  const note: SendNote = (message, socket) => {
    // The end of the child reports messages that can no longer be delivered.
    if (isAlive) child.send(message, socket, {}, () => undefined);
  };
  const commands = createCommands({ note, kill: () => void child.kill('SIGKILL') });

  child.on('message', (report: Report) => {
    if (report.type === 'ready') ready.resolve();
    else if (report.type === 'ended') isConnected = false;
    else commands.receive(report);
  });
  const over = (reason: Error): void => {
    isAlive = false;
    ready.reject(new Error(`The process of the SQL Server driver did not start: ${errorText()}`));
    commands.fail(reason);
  };
  void endOf(child).then(over);
  child.once('error', over);

  const startTimer = setTimeout(() => child.kill('SIGKILL'), startTimeoutMs);
  await ready.promise.finally(() => clearTimeout(startTimer));

  return {
    isAlive: () => isAlive && child.exitCode === null && child.signalCode === null && !child.killed,
    isConnected: () => isAlive && isConnected,
    async ask(command, options) {
      if (!isAlive) throw stopped();
      const rows = await commands.run(command, options);
      if (command.type === 'open') isConnected = true;
      return rows;
    },
    kill: () => void child.kill('SIGKILL'),
    hold: (isHeld) => holdChild(child, isHeld),
  };
}

/** The driver loads in 100 ms; a starved machine gets time. */
const startTimeoutMs = 30_000;

const entry = fileURLToPath(new URL('child.ts', import.meta.url));
const core = join(dirname(entry), '..', '..', '..');
const root = join(core, '..', '..');
const packages = join(dirname(createRequire(import.meta.url).resolve('mssql')), '..');

/** A driver process may read sources only. */
export const driverFlags = containmentFlags({
  memoryMb: 256,
  readable: [core, join(root, 'package.json'), packages],
});

/** Settings of Node's by which certificates are trusted; nothing else of the environment is handed down. */
function trustStore(): NodeJS.ProcessEnv {
  const names = ['NODE_EXTRA_CA_CERTS', 'NODE_USE_SYSTEM_CA', 'SSL_CERT_FILE', 'SSL_CERT_DIR'];
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => names.includes(name)));
}

/** Why the process has ended. All that it said has been read when both events have happened. */
async function endOf(child: ChildProcess): Promise<Error> {
  const [reason] = await Promise.all([
    new Promise<Error>((resolve) => child.once('exit', (...how) => resolve(whyEnded(...how)))),
    new Promise<void>((resolve) => child.once('disconnect', resolve)),
  ]);
  return reason;
}

function holdChild(child: ChildProcess, isHeld: boolean): void {
  const handles = [child, child.channel, child.stderr as Socket | null];
  for (const handle of handles) handle?.[isHeld ? 'ref' : 'unref']();
}

/** V8 aborts with SIGABRT when its memory is used up; a shell, or Windows, reports it by a code. */
function whyEnded(code: number | null, signal: NodeJS.Signals | null): Error {
  return signal === 'SIGABRT' || code === 134
    ? Object.assign(new Error('The driver is out of memory'), { code: 'EMEMORY' })
    : stopped();
}

const stopped = (): AppError =>
  new AppError('destination_unavailable', 'The connection to the sqlserver destination has ended; try again.');

/** The last 2,000 characters of the process's stderr; not read after a successful start. */
function keepTail({ stderr }: ChildProcess): () => string {
  let tail = '';
  stderr?.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).slice(-2_000);
  });
  return () => tail;
}
