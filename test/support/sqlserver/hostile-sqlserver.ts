/** A customer's SQL Server whose every response is meant to exhaust, freeze or end the one who reads it. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { collationToken, doneToken, loginAckToken, resultTokens } from './tds-tokens.ts';
import { PreloginPayload } from './tedious-parts.ts';

/** A running one. */
export interface HostileSqlServer extends AsyncDisposable {
  readonly port: number;
  /** Bytes that clients have taken. */
  readonly sent: () => number;
  /** That were ever made. */
  readonly connections: () => number;
}

/** What it does, and in response to which message: 0 prelogin, 1 login, 2 the driver's settings, 3 the first statement. */
interface Attack {
  readonly at: number;
  readonly bytes: () => Iterable<Buffer>;
}

/** Starts one on a free port. Disposing cuts whoever still reads. */
export async function startHostileSqlServer(name: HostileResponse): Promise<HostileSqlServer> {
  const { at, bytes } = hostileResponses[name];
  const sockets = new Set<Socket>();
  const serve = (socket: Socket): void => {
    sockets.add(socket);
    let messages = 0;
    socket.on('error', () => socket.destroy());
    // A message is one packet here, and arrives at once.
    socket.on('data', () => {
      if (messages < at) socket.write(packet(honest[messages] ?? doneToken()));
      else if (messages === at) Readable.from(bytes()).pipe(socket, { end: false });
      messages += 1;
    });
  };
  const listener = createServer(serve).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    connections: () => sockets.size,
    sent: () => [...sockets].reduce((sum, { bytesWritten }) => sum + bytesWritten, 0),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
}

const honest = [
  new PreloginPayload({ encrypt: false, version: { major: 14, minor: 0, build: 0, subbuild: 0 } }).data,
  Buffer.concat([collationToken(), loginAckToken(), doneToken()]),
];

/** A packet of a response; `more`: others of the same message follow. */
function packet(data: Buffer, more = false): Buffer {
  const header = Buffer.from([4, more ? 0 : 1, 0, 0, 0, 0, 1, 0]);
  header.writeUInt16BE(8 + data.length, 2);
  return Buffer.concat([header, data]);
}

/** Packets without an end, of a message that begins with these tokens. */
function* endless(first: Buffer, repeated: Buffer): Generator<Buffer> {
  yield packet(first, true);
  const times = Math.max(1, Math.floor(32_000 / repeated.length));
  const next = packet(Buffer.concat(Array.from({ length: times }, () => repeated)), true);
  for (;;) yield next;
}

/** COLMETADATA of a text column, without its row. */
const textColumn = (() => {
  const tokens = resultTokens([{ a: 'x' }]);
  return tokens.subarray(0, tokens.indexOf(0xd1));
})();

/** A row whose only value is a text of unknown length, in chunks. */
const openText = Buffer.concat([textColumn, Buffer.from([0xd1]), Buffer.from('feffffffffffffff', 'hex')]);

const chunk = (data: Buffer): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(data.length);
  return Buffer.concat([length, data]);
};

/** A row of columns that are all null takes a bit for each. */
const nullRow = (count: number): Buffer =>
  Buffer.concat([Buffer.from([0xd2]), Buffer.alloc(Math.ceil(count / 8), 0xff)]);

const nullColumns = (count: number): Buffer =>
  Buffer.concat([
    Buffer.from([0x81, count & 0xff, count >> 8]),
    ...Array.from({ length: count }, (_, index) =>
      Buffer.concat([
        Buffer.from([0, 0, 0, 0, 0, 0, 0x26, 4, 4]),
        Buffer.from(index.toString(36).padStart(4), 'utf16le'),
      ]),
    ),
  ]);

/** The size of packets that the client is to send: it leaves no room for data. */
const noRoom = Buffer.concat([Buffer.from([0xe3, 5, 0, 4, 1]), Buffer.from('8', 'utf16le'), Buffer.from([0])]);

/** What it can be. */
export type HostileResponse = keyof typeof hostileResponses;

/** By name. */
const hostileResponses = {
  garbage: { at: 0, bytes: () => [Buffer.alloc(100_000, 0x5a)] },
  'garbage in a statement': { at: 3, bytes: () => [packet(Buffer.alloc(20_000, 0x5a))] },
  'rows without an end': {
    at: 3,
    bytes: () => endless(textColumn, Buffer.concat([Buffer.from([0xd1]), Buffer.alloc(8, 0xff)])),
  },
  'a value without an end': { at: 3, bytes: () => endless(openText, chunk(Buffer.alloc(16_000, 0x41))) },
  'a value in chunks of a byte': { at: 3, bytes: () => endless(openText, chunk(Buffer.from([0x41]))) },
  'rows of a thousand columns, a bit each': { at: 3, bytes: () => endless(nullColumns(1000), nullRow(1000)) },
  'messages to print without an end': {
    at: 3,
    bytes: () => endless(Buffer.alloc(0), infoToken('x'.repeat(4000))),
  },
  'a size of packets that leaves no room': {
    at: 1,
    bytes: () => [packet(Buffer.concat([collationToken(), noRoom, loginAckToken(), doneToken()]))],
  },
} as const satisfies Readonly<Record<string, Attack>>;

function infoToken(message: string): Buffer {
  const text = Buffer.from(message, 'utf16le');
  const length = Buffer.alloc(2);
  length.writeUInt16LE(message.length);
  const body = Buffer.concat([Buffer.alloc(6), length, text, Buffer.from([0, 0, 1, 0, 0, 0])]);
  const head = Buffer.from([0xab, body.length & 0xff, body.length >> 8]);
  return Buffer.concat([head, body]);
}
