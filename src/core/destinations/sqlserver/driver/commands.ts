import type { Socket } from 'node:net';
import { AppError } from '../../../errors.ts';
import { type Command, errorOf, type Note, type OpenSocket, type Report } from './messages.ts';
import type { Value } from './session.ts';
import { frozenMs, type Watch, watchOver } from './watch.ts';

export interface AskOptions {
  /** Milliseconds until the process is ended; restarted with each socket that it gets. */
  readonly timeoutMs: number;
  readonly openSocket?: OpenSocket;
  readonly parts?: Iterator<readonly (readonly Value[])[]>;
}

export type SendNote = (message: Command | Note, socket?: Socket) => void;

interface Commands {
  /** One command at a time. Throws the driver's error, or an AppError after the time limit. */
  run(command: Command, options: AskOptions): Promise<readonly unknown[]>;
  receive(report: CommandReport): void;
  fail(reason: Error): void;
}

/** The other reports are about the process or its connection. */
type CommandReport = Exclude<Report, { readonly type: 'ready' | 'ended' }>;

interface InProgress extends Omit<AskOptions, 'timeoutMs'> {
  readonly resolve: (rows: readonly unknown[]) => void;
  readonly reject: (error: unknown) => void;
  readonly watch: Watch;
  readonly stopped: AbortController;
  /** The driver only learns that it gets no socket. */
  socketFailure: unknown;
}

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
          // Each server named by a redirect gets the full time again.
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
