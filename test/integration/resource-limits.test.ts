/** What somebody sends to exhaust a process costs him his own run or request, and a bounded amount of memory. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/service/eventually.ts';
import { forgetPeak, peakMemory } from '../support/service/process-memory.ts';
import { type Stack, startStack } from '../support/service/stack.ts';
import { type Account, openAccount } from '../support/sync/account.ts';
import { type HostileApi, startHostileApi } from '../support/upstream/hostile-api.ts';
import { generateRecords, startUpstream, type Upstream } from '../support/upstream/upstream.ts';

const started = new AsyncDisposableStack();
let hostile: HostileApi;
let upstream: Upstream;
let stack: Stack;
/** The connection of another org. */
let neighbour: Account;
const neighboursRecords = 300;

beforeAll(async () => {
  hostile = started.use(await startHostileApi());
  upstream = started.use(await startUpstream({ collections: { records: generateRecords(neighboursRecords) } }));
  stack = started.use(await startStack({ allow: [hostile.hostPort, upstream.hostPort] }));
  const resource = {
    key: 'records',
    request: { path: '/cursor/records' },
    response: { records: 'data' },
    pagination: { kind: 'cursor', next: 'body.next_cursor', size: 100, inject: { in: 'query', name: 'cursor' } },
  };
  const theirs = { ...stack, org: await stack.newOrg() };
  neighbour = await openAccount(theirs, { key: 'neighbour', baseUrl: upstream.url, resources: [resource] });
});
afterEach(({ task }) => {
  if (task.result?.state === 'fail') process.stderr.write(`${stack.tails()}\n`);
});
afterAll(() => started.disposeAsync());

/** An attack of the fake API, how the run ends that meets it, and the memory that it may take. */
interface Attack {
  readonly name: string;
  readonly resource?: Readonly<Record<string, unknown>>;
  readonly end: object;
  /** What the worker may hold in addition at any time, MB. */
  readonly memoryMax: number;
}

const failed = (code: string, message: string) => ({
  status: 'failed',
  error: { code, message: expect.stringContaining(message) },
});

/** A response has 50 MiB at most, and some of it may be there twice: as it came and decoded. */
const twoResponses = 150;

const attacks: readonly Attack[] = [
  { name: 'gzip_bomb', end: failed('source_rejected', 'larger than 52428800 bytes'), memoryMax: twoResponses },
  { name: 'gzip_in_gzip', end: failed('source_rejected', 'not encoded in one of'), memoryMax: twoResponses },
  { name: 'gzip_file', end: failed('source_rejected', 'of more than 52428800 bytes'), memoryMax: twoResponses },
  { name: 'endless_page', end: failed('source_rejected', 'larger than 52428800 bytes'), memoryMax: twoResponses },
  { name: 'header_flood', end: failed('source_rejected', 'more than 16 KB of headers'), memoryMax: twoResponses },
  { name: 'deep_json', end: failed('record_invalid', 'nested deeper than 64 levels'), memoryMax: twoResponses },
  { name: 'wide_json', end: failed('record_invalid', 'more than 100000 values'), memoryMax: twoResponses },
  {
    name: 'endless_pages',
    resource: {
      response: { records: 'data' },
      pagination: { kind: 'cursor', next: 'body.next', inject: { in: 'query', name: 'page' }, maxPages: 50 },
    },
    end: failed('page_limit', 'more than 50 pages'),
    memoryMax: twoResponses,
  },
  {
    name: 'large_page',
    end: { status: 'succeeded', error: null },
    // Its 46,000 records exist as bytes, as text, as values and as rows of the batch that is written.
    memoryMax: 600,
  },
];

describe('a run that meets a hostile API', () => {
  it.each(attacks)(
    'ends with a clear reason, in bounded memory, beside a run of another org: $name',
    async ({ name, resource, end, memoryMax }) => {
      const attacked = await openAccount(stack, {
        key: name.replaceAll('_', '-'),
        baseUrl: hostile.url,
        resources: [{ key: name, ...resource }],
      });
      const { pid } = stack.worker();
      const before = await measureFromNow(pid);
      const [run, theirs] = await Promise.all([attacked.sync(name), neighbour.sync('records')]);
      const taken = (await peak(pid)) - before;

      expect(run).toMatchObject(end);
      expect(theirs).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: neighboursRecords } });
      expect(taken).toBeLessThan(memoryMax);
      expect(stack.worker().exitCode()).toBeNull();
    },
    120_000,
  );

  it('cuts a response that comes byte by byte, however often, beside a run of another org', async () => {
    const attacked = await openAccount(stack, {
      key: 'drip',
      baseUrl: hostile.url,
      resources: [{ key: 'drip', request: { path: '/drip', timeoutMs: 1000 } }],
    });
    const { pid } = stack.worker();
    const before = await measureFromNow(pid);
    const runId = await attacked.request('drip');
    const theirs = await neighbour.sync('records');
    // Each request but the last was cut before the next one was made.
    await eventually('the response is cut and asked for again', async () => hostile.asked('drip') > 3);
    const cut = { attempt: 1, statusCode: null, respBodyTruncated: null };
    expect(await attacked.calls(runId)).toContainEqual(expect.objectContaining(cut));
    expect((await stack.org.call('POST', `/runs/${runId}/cancel`)).status).toBeLessThan(300);

    expect(await attacked.ended(runId)).toMatchObject({ status: 'canceled' });
    expect(theirs).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: neighboursRecords } });
    expect((await peak(pid)) - before).toBeLessThan(twoResponses);
  });
});

/** Of one org, as many as it may have at once. */
const runsAtOnce = 10;
/** Partitions that each requests before it has read the first. */
const aheadMax = 4;
/** Runs of another org meanwhile. */
const theirRuns = 4;

describe(`${runsAtOnce} runs of an org whose responses take the thread for long`, () => {
  it('take a part of it, and runs of another org the rest', async () => {
    const org = await stack.newOrg();
    const resource = {
      key: 'million_texts',
      forEach: [{ as: 'n', values: '{{ [1..1000] }}' }],
      response: { records: 'data' },
    };
    const attackers = await Promise.all(
      Array.from({ length: runsAtOnce }, (_, nth) =>
        openAccount({ ...stack, org }, { key: `texts-${nth}`, baseUrl: hostile.url, resources: [resource] }),
      ),
    );
    const { pid } = stack.worker();
    const memoryBefore = await measureFromNow(pid);
    const runs = await Promise.all(attackers.map((attacker) => attacker.request(resource.key)));
    await eventually('all of them read', async () => hostile.asked(resource.key) >= runsAtOnce * aheadMax);
    const askedBefore = hostile.asked(resource.key);
    for (let run = 1; run <= theirRuns; run += 1)
      expect(await neighbour.sync('records')).toMatchObject({ status: 'succeeded' });

    // Eight for each of their runs when all responses were decoded as they came.
    expect(hostile.asked(resource.key) - askedBefore).toBeLessThan(2 * theirRuns);
    expect((await peak(pid)) - memoryBefore).toBeLessThan(1500);
    for (const run of runs) expect((await org.call('POST', `/runs/${run}/cancel`)).status).toBeLessThan(300);
    for (const [nth, run] of runs.entries())
      expect(await attackers[nth]?.ended(run)).toMatchObject({ status: 'canceled' });
  });
});

/** Sockets that are open at once. */
const slowSockets = 200;
/** Requests that come at once. */
const atOnce = 50;
/** Beyond the limit, and all of it on its way within the half second after which the HTTP server hears no more of it. */
const tooLong = `"${'x'.repeat(1_200_000)}"`;
/** What the API may hold in addition meanwhile, MB. */
const apiMemoryMax = 400;

describe('the API', () => {
  it(`serves others while ${slowSockets} sockets send their headers byte by byte, and ends these`, async () => {
    const { pid } = stack.api();
    const before = await measureFromNow(pid);
    const sockets = await Promise.all(Array.from({ length: slowSockets }, openSlowly));
    const drip = setInterval(() => sockets.forEach(({ socket }) => void (socket.writable && socket.write('x'))), 200);
    try {
      for (let nth = 0; nth < 20; nth += 1) expect((await stack.org.call('GET', '/connections')).status).toBe(200);
      const open = sockets.filter(({ socket }) => !socket.readableEnded).length;
      expect(open).toBe(slowSockets);
      const replies = await Promise.all(sockets.map(({ received }) => received));
      for (const reply of replies) expect(reply).toMatch(/^HTTP\/1.1 408 /);
    } finally {
      clearInterval(drip);
    }
    expect((await peak(pid)) - before).toBeLessThan(apiMemoryMax);
  });

  it.each([
    ['headers beyond 16 KiB', 431, () => `${head('GET', '/api/v1/connections')}X: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['a body that says it is longer than 1 MiB', 413, () => declared(tooLong)],
    ['a body that turns out to be longer than 1 MiB', 413, () => chunked(tooLong)],
    ['more than 100,000 values', 400, () => declared(`[${'0,'.repeat(100_000)}0]`)],
    ['100,000 levels', 400, () => declared(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)],
  ])(`refuses ${atOnce} requests at once and serves others: %s`, async (_what, status, request) => {
    const { pid } = stack.api();
    const before = await measureFromNow(pid);
    const bytes = Buffer.from(request());
    const refused = Array.from({ length: atOnce }, () => send(bytes));
    for (let nth = 0; nth < 20; nth += 1) expect((await stack.org.call('GET', '/connections')).status).toBe(200);
    const statuses = (await Promise.all(refused)).map((reply) => reply.slice(9, 12));
    expect(new Set(statuses)).toEqual(new Set([String(status)]));
    const taken = (await peak(pid)) - before;
    expect(taken).toBeLessThan(apiMemoryMax);
    expect(stack.api().exitCode()).toBeNull();
  });
});

// The peak of another process is read from /proc, which only Linux has; elsewhere the rest is tested.
const peak = (pid: number): Promise<number> => (process.platform === 'linux' ? peakMemory(pid) : Promise.resolve(0));

async function measureFromNow(pid: number): Promise<number> {
  if (process.platform === 'linux') await forgetPeak(pid);
  return await peak(pid);
}

/** The beginning of a request, as raw text. */
const head = (method: string, path: string): string =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${stack.org.apiKey}\r\n`;

const declared = (body: string): string =>
  `${head('POST', '/api/v1/specs')}Content-Length: ${body.length}\r\n\r\n${body}`;

const chunked = (body: string): string =>
  `${head('POST', '/api/v1/specs')}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

async function openSocket(): Promise<Socket> {
  const { hostname, port } = new URL(stack.apiUrl);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  return socket;
}

/** A socket with a request whose head does not end, and what comes back on it until it is closed. */
async function openSlowly(): Promise<{ readonly socket: Socket; readonly received: Promise<string> }> {
  const socket = await openSocket();
  const received = text(socket);
  socket.write(`${head('GET', '/api/v1/connections')}X-Slow: `);
  return { socket, received };
}

/** The response to a request, as raw text. The server need not take all of what it refuses: writing may fail, reading not. */
async function send(bytes: Buffer): Promise<string> {
  const socket = await openSocket();
  const closed = Promise.withResolvers<void>();
  let reply = '';
  socket.setEncoding('utf8');
  socket.on('data', (part) => {
    reply += String(part);
  });
  socket.on('error', () => undefined);
  socket.on('close', () => closed.resolve());
  socket.write(bytes);
  await closed.promise;
  return reply;
}
