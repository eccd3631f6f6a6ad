import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError } from '../../../errors.ts';
import { containmentFlags } from '../../../work/containment-flags.ts';
import { type Command, errorOf, type Note, type OpenSocket, type Report } from './messages.ts';
import type { Value } from './session.ts';
import { frozenMs, type Watch, watchOver } from './watch.ts';

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

/** The limits of a command, and what it may request meanwhile. */
interface AskOptions {
  /** Milliseconds until the process is ended, whatever it does; restarted with each socket that it gets. */
  readonly timeoutMs: number;
  readonly openSocket?: OpenSocket;
  /** The rows of a bulk copy, in parts. */
  readonly parts?: Iterator<readonly (readonly Value[])[]>;
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
  let asked: Asked | null = null;
  let isAlive = true;
  let isConnected = false;

  const note = (message: Command | Note, socket?: Parameters<ChildProcess['send']>[1]): void => {
    // The end of the child reports messages that can no longer be delivered.
    if (isAlive) child.send(message, socket, {}, () => undefined);
  };
  const finish = (respond: (current: Asked) => void): void => {
    const current = asked;
    asked = null;
    if (!current) return;
    current.watch.stop();
    current.stopped.abort();
    respond(current);
  };
  const end = (reason: Error): void => {
    child.kill('SIGKILL');
    finish(({ reject }) => reject(reason));
  };
  const provideSocket = async (current: Asked, target: Parameters<OpenSocket>[0]): Promise<void> => {
    try {
      if (!current.openSocket) throw new Error('Only a login opens sockets');
      const socket = await current.openSocket(target, current.stopped.signal);
      if (current === asked) note({ type: 'socket' }, socket);
      else socket.destroy();
    } catch (error) {
      current.socketFailure = error;
      if (current === asked) note({ type: 'noSocket' });
    }
  };

  child.on('message', (report: Report) => {
    switch (report.type) {
      case 'ready':
        return ready.resolve();
      case 'pong':
        return asked?.watch.responded();
      case 'wantsSocket':
        // Each server that another one names has the time of the first.
        asked?.watch.restart();
        if (asked) void provideSocket(asked, report.target);
        return;
      case 'wantsRows':
        return note({ type: 'rows', rows: asked?.parts?.next().value ?? null });
      case 'ended':
        isConnected = false;
        return;
      case 'done':
        return finish(({ resolve }) => resolve(report.rows));
      case 'failed':
        return finish(({ reject, socketFailure }) => reject(socketFailure ?? errorOf(report.error)));
    }
  });
  const over = (reason: Error): void => {
    isAlive = false;
    ready.reject(new Error(`The process of the SQL Server driver did not start: ${errorText()}`));
    finish(({ reject }) => reject(reason));
  };
  void endOf(child).then(over);
  child.once('error', over);

  const startTimer = setTimeout(() => child.kill('SIGKILL'), startTimeoutMs);
  await ready.promise.finally(() => clearTimeout(startTimer));

  return {
    isAlive: () => isAlive && child.exitCode === null && child.signalCode === null && !child.killed,
    isConnected: () => isAlive && isConnected,
    async ask(command, { timeoutMs, ...provided }) {
      if (!isAlive) throw stopped();
      if (asked) throw new Error('The driver carries out one command at a time');
      const { promise, resolve, reject } = Promise.withResolvers<readonly unknown[]>();
      const watch = watchOver({
        timeoutMs,
        ping: () => note({ type: 'ping' }),
        onFrozen: () => end(frozen()),
        onOverdue: () => end(overdue(timeoutMs)),
      });
      asked = { ...provided, resolve, reject, watch, stopped: new AbortController(), socketFailure: undefined };
      note(command);
      const rows = await promise;
      if (command.type === 'open') isConnected = true;
      return rows;
    },
    kill: () => void child.kill('SIGKILL'),
    hold: (isHeld) => holdChild(child, isHeld),
  };
}

/** A command in progress. */
interface Asked extends Omit<AskOptions, 'timeoutMs'> {
  readonly resolve: (rows: readonly unknown[]) => void;
  readonly reject: (error: unknown) => void;
  readonly watch: Watch;
  /** Aborted when it has ended. */
  readonly stopped: AbortController;
  /** Why a socket could not be opened: the driver is only notified that there is none. */
  socketFailure: unknown;
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

const frozen = (): AppError =>
  new AppError(
    'destination_unavailable',
    `The service closed the connection to the sqlserver destination: the driver could not process what the server sent within ${frozenMs / 1000} s.`,
  );

const overdue = (timeoutMs: number): AppError =>
  new AppError(
    'destination_unavailable',
    `The service closed the connection to the sqlserver destination: the response was not complete within ${timeoutMs / 1000} s.`,
  );

/** The last 2,000 characters of the process's stderr; not read after a successful start. */
function keepTail({ stderr }: ChildProcess): () => string {
  let tail = '';
  stderr?.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).slice(-2_000);
  });
  return () => tail;
}
