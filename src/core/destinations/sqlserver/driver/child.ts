/**
 * One session at a time, on sockets that it is given. The server's bytes are counted before the driver sees them. See
 * children.ts.
 */
import { registerHooks } from 'node:module';
import type { Socket } from 'node:net';
import { codeOf } from '../../../error-code.ts';
import type { SqlServerAddress } from '../address.ts';
import { causesOf } from '../errors.ts';
import { SqlServerFailure } from '../server-error.ts';
import type { DriverSession } from './driver.ts';
import { inSight } from './in-sight.ts';
import {
  type Command,
  type Note,
  type OpenSocket,
  type Report,
  receiptLengthMax,
  type SocketTarget,
  wireError,
} from './messages.ts';
import type { Value } from './session.ts';

/**
 * The most bytes are those of a receipt, two for each character. The most cells, 210,000, are the catalog's columns of a table of
 * 30,000 (wide, with sparse columns).
 */
const statementMax = { bytes: 2 * receiptLengthMax + 4 * 1024 * 1024, cells: 250_000 } as const;
/** Bytes of a session: 20,000 batches (10 million rows), whose triggers print 50 KB each. */
const sessionBytesMax = 1024 ** 3;

// Without the packages for Entra ID's tokens, which the service fetches, the driver starts in a third of the time.
registerHooks({
  load: (url, context, next) =>
    url.includes('/node_modules/@azure/') ? { format: 'commonjs', source: '', shortCircuit: true } : next(url, context),
});
const { openDriverSession } = await import('./driver.ts');

let session: DriverSession | null = null;
let socket: Socket | null = null;
let received = { statement: 0, session: 0, cells: 0 };
let isEnding = false;
let waiting: {
  readonly resolve: (socket: Socket | undefined) => void;
  readonly reject: (error: Error) => void;
} | null = null;
let takeRows: ((rows: readonly (readonly Value[])[] | null) => void) | null = null;

process.on('message', (message: Command | Note, handle?: Socket) => {
  switch (message.type) {
    case 'ping':
      return report({ type: 'pong' });
    case 'socket':
      // Unwanted: the driver has stopped waiting for it.
      if (waiting) waiting.resolve(handle);
      else handle?.destroy();
      return;
    case 'noSocket':
      return waiting?.reject(new Error('no socket'));
    case 'rows':
      return takeRows?.(message.rows);
    case 'open':
    case 'query':
    case 'load':
    case 'close':
      void carryOut(message).then(
        (rows) => report({ type: 'done', rows }),
        (error: unknown) => report({ type: 'failed', error: wireError(explained(error)) }),
      );
  }
});
process.on('disconnect', () => process.exit(0));
process.on('uncaughtException', (error) => endWith(explained(error)));
// Ctrl-C reaches the whole process group, while the parent still drains: it ends this process by disconnecting.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
report({ type: 'ready' });

async function carryOut(command: Command): Promise<readonly unknown[]> {
  received = { ...received, statement: 0, cells: 0 };
  switch (command.type) {
    case 'open':
      received = { ...received, session: 0 };
      session = await openDriverSession({ ...command, openSocket: socketOpener(command.address), onRow, onEnd });
      return [];
    case 'query':
      return await opened().query(command.sql, command);
    case 'load':
      await opened().load(command.table, { columns: command.columns, rows: rowsOf() });
      return [];
    case 'close':
      await session?.close();
      session = null;
      socket?.destroy();
      socket = null;
      return [];
  }
}

function opened(): DriverSession {
  if (session) return session;
  throw new Error('There is no session');
}

const socketOpener =
  ({ encrypt }: SqlServerAddress): OpenSocket =>
  async (target, signal) => {
    const given = await openSocket(target, signal);
    return encrypt === 'strict' ? inSight(given) : given;
  };

async function openSocket(target: SocketTarget, signal: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket | undefined>();
  waiting = { resolve, reject };
  signal.addEventListener('abort', () => reject(asError(signal.reason)), { once: true });
  report({ type: 'wantsSocket', target });
  const given = await promise.finally(() => {
    waiting = null;
  });
  if (!given) throw new Error('The socket was lost on its way');
  socket = given;
  given.on('data', ({ length }: Buffer) => {
    received.statement += length;
    received.session += length;
    if (received.statement > statementMax.bytes || received.session > sessionBytesMax) flooded();
  });
  return given;
}

function onRow(cells: number): void {
  received.cells += cells;
  if (received.cells > statementMax.cells) flooded();
}

const onEnd = (): void => report({ type: 'ended' });

async function* rowsOf(): AsyncGenerator<readonly Value[]> {
  for (;;) {
    const { promise, resolve } = Promise.withResolvers<readonly (readonly Value[])[] | null>();
    takeRows = resolve;
    report({ type: 'wantsRows' });
    const rows = await promise;
    if (rows === null) return;
    yield* rows;
  }
}

/** Codes of driver errors beyond the end of a packet or about a login response; empty for an error without a code. */
const protocolCodes = ['', 'ERR_OUT_OF_RANGE', 'ERR_BUFFER_OUT_OF_BOUNDS', 'ETDS', 'EINTERFACENOTSUPP'];

/** Such a root error, while the connection stands, is about the server's bytes. */
function explained(error: unknown): unknown {
  const root = causesOf(error).at(-1);
  const isServers = root instanceof SqlServerFailure || root instanceof AggregateError;
  const stands = socket !== null && !socket.readableEnded && socket.errored === null;
  return stands && !isServers && protocolCodes.includes(codeOf(root)) ? coded('EPROTOCOL') : error;
}

function flooded(): void {
  socket?.destroy();
  endWith(coded('EFLOOD'));
}

function endWith(error: unknown): void {
  if (isEnding) return;
  isEnding = true;
  process.send?.({ type: 'failed', error: wireError(error) } satisfies Report, () => process.exit(1));
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));

const coded = (code: string): Error => Object.assign(new Error(code), { code });

function report(message: Report): void {
  if (!isEnding) process.send?.(message, () => undefined);
}
