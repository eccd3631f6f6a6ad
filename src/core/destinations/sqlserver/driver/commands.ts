/** The commands that a driver process carries out, from the service's side of the messages. */
import type { Socket } from 'node:net';
import { AppError } from '../../../errors.ts';
import { type Command, errorOf, type Note, type OpenSocket, type Report } from './messages.ts';
import type { Value } from './session.ts';
import { frozenMs, type Watch, watchOver } from './watch.ts';

/** The limits of a command, and what it may request meanwhile. */
export interface AskOptions {
  /** Milliseconds until the process is ended, whatever it does; restarted with each socket that it gets. */
  readonly timeoutMs: number;
  readonly openSocket?: OpenSocket;
  /** The rows of a bulk copy, in parts. */
  readonly parts?: Iterator<readonly (readonly Value[])[]>;
}

/** Sends a message to the process, with a socket if there is one. */
export type SendNote = (message: Command | Note, socket?: Socket) => void;

/** The commands of one process, one at a time. */
interface Commands {
  /** Carries out a command and gives its rows. Throws what the driver threw, or an AppError when its time is up. */
  run(command: Command, options: AskOptions): Promise<readonly unknown[]>;
  /** Takes what the process reports of the command in progress. */
  receive(report: CommandReport): void;
  /** Ends the command in progress, if there is one: it throws `reason`. */
  fail(reason: Error): void;
}

/** What a process reports of a command; the rest is about the process or its connection. */
type CommandReport = Exclude<Report, { readonly type: 'ready' | 'ended' }>;

/** A command in progress. */
interface InProgress extends Omit<AskOptions, 'timeoutMs'> {
  readonly resolve: (rows: readonly unknown[]) => void;
  readonly reject: (error: unknown) => void;
  readonly watch: Watch;
  /** Aborted when it has ended. */
  readonly stopped: AbortController;
  /** Why a socket could not be opened: the driver is only notified that there is none. */
  socketFailure: unknown;
}

/** The commands of a process to which `note` sends, and which `kill` ends. */
export function createCommands({ note, kill }: { readonly note: SendNote; readonly kill: () => void }): Commands {
  let inProgress: InProgress | null = null;

  const finish = (respond: (current: InProgress) => void): void => {
    const current = inProgress;
    inProgress = null;
    if (!current) return;
    current.watch.stop();
    current.stopped.abort();
    respond(current);
  };
  const end = (reason: Error): void => {
    kill();
    finish(({ reject }) => reject(reason));
  };
  const provideSocket = async (current: InProgress, target: Parameters<OpenSocket>[0]): Promise<void> => {
    try {
      if (!current.openSocket) throw new Error('Only a login opens sockets');
      const socket = await current.openSocket(target, current.stopped.signal);
      if (current === inProgress) note({ type: 'socket' }, socket);
      else socket.destroy();
    } catch (error) {
      current.socketFailure = error;
      if (current === inProgress) note({ type: 'noSocket' });
    }
  };

  return {
    run(command, { timeoutMs, ...provided }) {
      if (inProgress) throw new Error('The driver carries out one command at a time');
      const { promise, resolve, reject } = Promise.withResolvers<readonly unknown[]>();
      const watch = watchOver({
        timeoutMs,
        ping: () => note({ type: 'ping' }),
        onFrozen: () => end(frozen()),
        onOverdue: () => end(overdue(timeoutMs)),
      });
      inProgress = { ...provided, resolve, reject, watch, stopped: new AbortController(), socketFailure: undefined };
      note(command);
      return promise;
    },
    receive(report) {
      switch (report.type) {
        case 'pong':
          return inProgress?.watch.responded();
        case 'wantsSocket':
          // Each server that another one names has the time of the first.
          inProgress?.watch.restart();
          if (inProgress) void provideSocket(inProgress, report.target);
          return;
        case 'wantsRows':
          return note({ type: 'rows', rows: inProgress?.parts?.next().value ?? null });
        case 'done':
          return finish(({ resolve }) => resolve(report.rows));
        case 'failed':
          return finish(({ reject, socketFailure }) => reject(socketFailure ?? errorOf(report.error)));
      }
    },
    fail: (reason) => finish(({ reject }) => reject(reason)),
  };
}

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
