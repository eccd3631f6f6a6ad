/**
 * A process that opens sessions to servers that send changed recordings, as runs do. It prints the outcome; an
 * uncaught error ends it, an endless loop leaves it silent.
 *
 * Arguments: a file with the recording (JSON, base64), the number of cases, the seed, and the folder with a certificate.
 */
import { readFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createSecureContext, TLSSocket } from 'node:tls';
import { openPostgres } from '../../../src/core/destinations/postgres/postgres.ts';
import { batchOf, claimOf, rowOf } from '../sync/batches.ts';
import { asOtherKind, logins, password, type Response } from './logins.ts';
import { mutate, seeded } from './mutations.ts';

const [, , file = '', cases = '', seed = '', folder = ''] = process.argv;
const recording = (JSON.parse(readFileSync(file, 'utf8')) as string[]).map((text) => Buffer.from(text, 'base64'));
const secureContext = createSecureContext({
  cert: readFileSync(join(folder, 'db.test.crt')),
  key: readFileSync(join(folder, 'db.test.key')),
});
/** Sessions at once. */
const width = 16;
/** Every so many cases one is encrypted. */
const tlsEvery = 10;
/** A server hangs up after so many ticks of that many ms without a message. */
const quietTicks = 4;
const tickMs = 5;

const worst = { lagMs: 0, bytes: 0 };
let last = performance.now();
setInterval(() => {
  const now = performance.now();
  worst.lagMs = Math.max(worst.lagMs, now - last);
  worst.bytes = Math.max(worst.bytes, process.memoryUsage.rss());
  last = now;
}, 5).unref();

type Login = keyof typeof logins;
const kinds = Object.keys(logins) as Login[];

/** How a session is led. */
interface Setting {
  readonly encrypted: boolean;
  /** The server ends a session in which the client says nothing more: it may wait for a response that never comes. */
  readonly hangsUp: boolean;
  readonly limits: { readonly connectMs: number; readonly statementMs: number };
}

/** Nothing is changed: each message has its response, however late a busy machine lets it come. */
const asRecorded: Setting = {
  encrypted: false,
  hangsUp: false,
  limits: { connectMs: 30_000, statementMs: 30_000 },
};
const hostile = { hangsUp: true, limits: { connectMs: 2000, statementMs: 1000 } } as const;
/** Iterations of SCRAM: the usual ones, and such as end or freeze a client. */
const iterations = [4096, 4096, 4096, 0, 1, 1e8, 2 ** 31, 1e15];

const unchanged: Record<string, string> = {};
for (const kind of kinds) unchanged[kind] = await open(sessionOf(kind), asRecorded);

const results = new Map<string, number>();
let next = 0;
await Promise.all(
  Array.from({ length: width }, async () => {
    while (next < Number(cases)) await runCase(next++);
  }),
);
process.stdout.write(`${JSON.stringify({ cases: next, ...worst, unchanged, results: Object.fromEntries(results) })}\n`);
process.exit(0);

async function runCase(number: number): Promise<void> {
  const random = seeded(Number(seed) + number);
  const kind = kinds[random(kinds.length)] ?? 'no password';
  const responses = sessionOf(kind, iterations[random(iterations.length)]);
  const ofLogin = responses.length - recording.length + 1;
  // Every other change is in the login.
  const changed = random(random(2) === 0 ? ofLogin : responses.length);
  const change = (bytes: Buffer) => (random(4) === 0 ? asOtherKind(bytes, random) : mutate(bytes, random));
  const session = responses.map((response, index) => (index === changed ? changedBy(response, change) : response));
  const result = await open(session, { ...hostile, encrypted: number % tlsEvery === 0 });
  results.set(result, (results.get(result) ?? 0) + 1);
}

/** A login of the kind, and behind it what was recorded. */
function sessionOf(kind: Login, rounds = 4096): readonly Response[] {
  const login: readonly Response[] = logins[kind](rounds);
  const [first = Buffer.alloc(0), ...rest] = recording;
  const final = login.at(-1);
  if (kind !== 'SCRAM-SHA-256' || final === undefined) return [...login, ...recording];
  return [...login.slice(0, -1), (sent) => Buffer.concat([bytesOf(final, sent), first]), ...rest];
}

function bytesOf(response: Response, sent: Buffer): Buffer {
  return typeof response === 'function' ? response(sent) : response;
}

function changedBy(response: Response, change: (bytes: Buffer) => Buffer): Response {
  return (sent) => change(bytesOf(response, sent));
}

/** Opens a session to a server with these responses, and delivers a batch; how it ends. */
async function open(responses: readonly Response[], { encrypted, hangsUp, limits }: Setting): Promise<string> {
  const script = { responses, hangsUp };
  const server = await serve((socket) => (encrypted ? encrypt(socket, script) : respond(socket, script)));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const guard = { vetHost: async () => [{ address: '127.0.0.1', family: 4 as const, allowListed: true }] };
  const options = {
    host: 'fuzz.test',
    port,
    database: 'd',
    user: 'u',
    password,
    ssl: encrypted ? 'require' : 'disable',
  };
  const destination = openPostgres(options, { guard, orgId: 'org_1', limits });
  try {
    await destination.check([]);
    await destination.open(claimOf('recorded'));
    await destination.apply(batchOf([rowOf('1')]));
    return 'completed';
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  } finally {
    await destination[Symbol.asyncDispose]();
    server.close();
  }
}

function serve(handle: (socket: Socket) => void): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    handle(socket);
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

interface Script extends Pick<Setting, 'hangsUp'> {
  readonly responses: readonly Response[];
}

function encrypt(socket: Socket, script: Script): void {
  socket.once('data', () => {
    socket.write('S');
    const secure = new TLSSocket(socket, { isServer: true, secureContext });
    secure.on('error', () => undefined);
    respond(secure, script);
  });
}

/** One response for each message of the client; the connection ends when there is nothing more to say. */
function respond(socket: Socket, { responses, hangsUp }: Script): void {
  let said = 0;
  let quiet = 0;
  socket.on('data', (sent: Buffer) => {
    quiet = 0;
    const response = responses[said];
    said += 1;
    if (response) socket.write(bytesOf(response, sent));
  });
  if (!hangsUp) return;
  // Ticks, not a time: after a pause of the whole process the client, which is in it, has its turn first.
  const ticks = setInterval(() => {
    if (said > 0 && (quiet += 1) > quietTicks) socket.destroy();
  }, tickMs);
  socket.once('close', () => clearInterval(ticks));
}
