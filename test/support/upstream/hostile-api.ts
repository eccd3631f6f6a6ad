/** A customer's API whose every response is meant to exhaust the one who reads it. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

const mib = 1024 * 1024;

/** A running one. */
export interface HostileApi extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`; each attack has a path of its name. */
  readonly url: string;
  /** As `EGRESS_ALLOW` takes it. */
  readonly hostPort: string;
  /** How often an attack was asked for. */
  asked(name: string): number;
}

/** Starts it on a free port. Disposing cuts whoever still reads. */
export async function startHostileApi(): Promise<HostileApi> {
  const asked = new Map<string, number>();
  const server = createServer((incoming, response) => {
    const name = new URL(incoming.url ?? '', 'http://hostile').pathname.slice(1);
    const nth = (asked.get(name) ?? 0) + 1;
    asked.set(name, nth);
    const attack = Object.hasOwn(attacks, name) ? attacks[name] : undefined;
    // Most readers go away in the middle; that is what is tested.
    (attack ?? notFound)(response, nth).catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    hostPort: `127.0.0.1:${port}`,
    asked: (name) => asked.get(name) ?? 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

type Attack = (response: ServerResponse, nth: number) => Promise<void>;

const attacks: Readonly<Record<string, Attack>> = {
  /** 200 KB that are 200 MB. */
  gzip_bomb: async (response) => sendGzip(response, 'gzip', gzipSync(blanks(200 * mib))),
  /** 1 KB that is 200 KB that are 200 MB. */
  gzip_in_gzip: async (response) => sendGzip(response, 'gzip, gzip', gzipSync(gzipSync(blanks(200 * mib)))),
  /** A gzip file, as an export is: not the transfer is packed, the content is. */
  gzip_file: async (response) => sendGzip(response, undefined, gzipSync(blanks(200 * mib))),
  /** A byte at a time, for ever: never silent for long enough to be cut for it. */
  drip: (response) => stream(response, drops()),
  /** A valid page of 45 MB, which is allowed. */
  large_page: (response) => stream(response, pageOf(45 * mib)),
  /** A page that never ends. */
  endless_page: (response) => stream(response, pageOf(Number.POSITIVE_INFINITY)),
  /** A cursor to another page, always. */
  endless_pages: async (response, nth) => send(response, JSON.stringify({ data: [{ id: nth }], next: `p${nth}` })),
  header_flood: async (response) => {
    response.setHeader('x-flood', 'x'.repeat(100_000));
    send(response, '[]');
  },
  deep_json: async (response) => send(response, `[{"id":1,"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}]`),
  /** No record, and beside it nearly as many texts as a response may have: half a second of the reader's thread. */
  million_texts: async (response) => sendGzip(response, 'gzip', millionTexts()),
  /** One record of half a million values. */
  wide_json: async (response) => send(response, `[{"id":1,"a":[${'0,'.repeat(500_000)}0]}]`),
};

const notFound: Attack = async (response) => void response.writeHead(404).end();

let packedTexts: Buffer | undefined;
const millionTexts = (): Buffer => (packedTexts ??= gzipSync(`{"data":[],"x":[${'"ab",'.repeat(2_900_000)}0]}`));

const blanks = (bytes: number): Buffer => Buffer.alloc(bytes, ' ');

function send(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(body);
}

function sendGzip(response: ServerResponse, encoding: string | undefined, body: Buffer): void {
  const headers = encoding === undefined ? {} : { 'content-encoding': encoding };
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body);
}

async function stream(response: ServerResponse, parts: Iterable<string> | AsyncIterable<string>): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json' });
  await pipeline(Readable.from(parts), response);
}

async function* drops(): AsyncIterable<string> {
  yield '[';
  for (;;) {
    yield ' ';
    await delay(20);
  }
}

/** A JSON list of at least so many bytes. */
function* pageOf(bytes: number): Iterable<string> {
  yield '[{"id":0}';
  for (let [id, sent] = [1, 0]; sent < bytes; id += 1) {
    const record = `,{"id":${id},"note":"${'x'.repeat(1000)}"}`;
    sent += record.length;
    yield record;
  }
  yield ']';
}
