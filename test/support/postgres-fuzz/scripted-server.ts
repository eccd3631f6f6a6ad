import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { Session } from '../../../src/core/destinations/postgres/session.ts';
import { openSession } from '../../../src/core/destinations/postgres/session.ts';
import { messageOf } from './mutations.ts';

/** A column by name, with the id of the type that the server claims for it, and its only value. */
export type Cell = readonly [name: string, typeId: number, value: Buffer | string | null];

const ready = messageOf('Z', Buffer.from('I'));
const loggedIn = Buffer.concat([messageOf('R', Buffer.alloc(4)), ready]);
const sync = Buffer.from([0x53, 0, 0, 0, 4]);

const int16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
};
const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

const columnOf = ([name, typeId]: Cell): Buffer =>
  Buffer.concat([Buffer.from(`${name}\0`), Buffer.alloc(6), int32(typeId), Buffer.alloc(8)]);

const valueOf = ([, , value]: Cell): Buffer => {
  if (value === null) return int32(-1);
  const bytes = Buffer.from(value);
  return Buffer.concat([int32(bytes.length), bytes]);
};

/** A response of one row. */
export const rowOf = (cells: readonly Cell[]): Buffer =>
  Buffer.concat([
    messageOf('T', Buffer.concat([int16(cells.length), ...cells.map(columnOf)])),
    messageOf('D', Buffer.concat([int16(cells.length), ...cells.map(valueOf)])),
    messageOf('C', Buffer.from('SELECT 1\0')),
    ready,
  ]);

/** A response without a row. */
export const noRow = Buffer.concat([messageOf('C', Buffer.from('SELECT 0\0')), ready]);

interface Scripted extends AsyncDisposable {
  readonly session: Session;
}

/** A session with a server that has logged it in, and gives these responses one after the other. */
export async function scriptedSession(responses: readonly Buffer[]): Promise<Scripted> {
  const left = [rowOf([['schema', 25, 'public']]), ...responses];
  const server = createServer((socket) => respond(socket, left));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const guard = { vetHost: async () => [{ address: '127.0.0.1', family: 4 as const, allowListed: true }] };
  const session = await openSession(
    { host: 'scripted.test', port, user: 'u', password: 'p', database: 'd', ssl: 'disable', ca: null },
    { guard, limits: { connectMs: 10_000, statementMs: 30_000 } },
  );
  return {
    session,
    async [Symbol.asyncDispose]() {
      server.close();
      await session[Symbol.asyncDispose]();
    },
  };
}

function respond(socket: Socket, left: Buffer[]): void {
  socket.on('error', () => undefined);
  socket.once('data', () => {
    socket.write(loggedIn);
    socket.on('data', (sent) => {
      if (sent[0] === 0x58) socket.end();
      else if (sent[0] === 0x51 || sent.subarray(-5).equals(sync)) socket.write(left.shift() ?? ready);
    });
  });
}
