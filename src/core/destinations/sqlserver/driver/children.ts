import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError } from '../../../errors.ts';
import { containmentFlags } from '../../../work/containment-flags.ts';
import { type AskOptions, createCommands, type SendNote } from './commands.ts';
import type { Command, Report } from './messages.ts';

/** The server's bytes can end only this process. */
export interface DriverChild {
  isAlive(): boolean;
  isConnected(): boolean;
  /** One command at a time. Throws the driver's error, or an AppError. */
  ask(command: Command, options: AskOptions): Promise<readonly unknown[]>;
  kill(): void;
  /** Whether it keeps the service's process alive. */
  hold(isHeld: boolean): void;
}

/** Resolves when the driver is loaded. Throws when that fails or takes more than 30 s. */
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

/** The driver loads in 100 ms; the rest is for a starved machine. */
const startTimeoutMs = 30_000;

const entry = fileURLToPath(new URL('child.ts', import.meta.url));
const core = join(dirname(entry), '..', '..', '..');
const root = join(core, '..', '..');
const packages = join(dirname(createRequire(import.meta.url).resolve('mssql')), '..');

export const driverFlags = containmentFlags({
  memoryMb: 256,
  readable: [core, join(root, 'package.json'), packages],
});

/** Node's settings for trusted certificates; no other part of the environment is passed on. */
function trustStore(): NodeJS.ProcessEnv {
  const names = ['NODE_EXTRA_CA_CERTS', 'NODE_USE_SYSTEM_CA', 'SSL_CERT_FILE', 'SSL_CERT_DIR'];
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => names.includes(name)));
}

/** After both events all messages of the process have been read. */
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

/** V8 aborts with SIGABRT when it is out of memory; a shell, or Windows, reports that by a code. */
function whyEnded(code: number | null, signal: NodeJS.Signals | null): Error {
  return signal === 'SIGABRT' || code === 134
    ? Object.assign(new Error('The driver is out of memory'), { code: 'EMEMORY' })
    : stopped();
}

const stopped = (): AppError =>
  new AppError('destination_unavailable', 'The connection to the sqlserver destination has ended; try again.');

/** Not read after a successful start. */
function keepTail({ stderr }: ChildProcess): () => string {
  let tail = '';
  stderr?.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).slice(-2_000);
  });
  return () => tail;
}
