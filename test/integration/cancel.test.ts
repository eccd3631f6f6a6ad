/** A run that is asked to stop ends soon, whatever it waits for at that moment. */
import { once } from 'node:events';
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import type { RunRow } from '../../src/core/resources/run.ts';
import { openAuditedDestination } from '../support/destinations/audit.ts';
import { testDatabaseUrl } from '../support/service/database-server.ts';
import { eventually } from '../support/service/eventually.ts';
import { useStack } from '../support/service/use-stack.ts';
import { startLaneServer } from '../support/sqlserver/lane.ts';

type Json = Readonly<Record<string, unknown>>;

/** Two seconds are what is promised; the shortest of these waits takes nine. */
const msMax = 5000;

const started = new AsyncDisposableStack();
afterAll(() => started.disposeAsync());

/** What the customer's systems do with whoever waits for them in one case. */
interface Trouble {
  isOver: boolean;
  readonly waiting: PromiseWithResolvers<void>;
}

const newTrouble = (): Trouble => ({ isOver: false, waiting: Promise.withResolvers() });

/** Of each case, by the first part of its paths. */
const troubles = new Map<string, Trouble>();

type Handler = (request: IncomingMessage, response: ServerResponse, trouble: Trouble) => void;

const whenTroubled =
  (handler: Handler): Handler =>
  (request, response, trouble) =>
    trouble.isOver ? response.end('{ "access_token": "t", "id": 1 }') : handler(request, response, trouble);
const noted: Handler = (_request, _response, { waiting }) => waiting.resolve();
const askingFor = (seconds: number) =>
  whenTroubled((_, response, { waiting }) => {
    response.writeHead(429, { 'retry-after': String(seconds) }).end(() => waiting.resolve());
  });

const paths: Readonly<Record<string, Handler>> = {
  items: (_, response) => response.end('[{ "id": 1 }]'),
  pages({ url = '' }, response, { waiting }) {
    const page = Number(new URL(url, 'http://api').searchParams.get('page'));
    const records = Array.from({ length: page < 4 ? 600 : 1 }, (_, index) => ({ id: page * 600 + index }));
    response.end(JSON.stringify(records), () => page === 1 && waiting.resolve());
  },
  silent: whenTroubled(noted),
  half: whenTroubled((_, response, { waiting }) => {
    response.writeHead(200, { 'content-length': '1000' }).write('[{ "id": ', () => waiting.resolve());
  }),
  redirect: ({ url = '' }, response) => response.writeHead(302, { location: url.replace('redirect', 'silent') }).end(),
  busy: askingFor(9),
  busier: askingFor(600),
};

async function portOf(server: Server | HttpServer): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

const api = createServer((request, response) => {
  const [, key = '', path = ''] = request.url?.split(/[/?]/) ?? [];
  const trouble = troubles.get(key);
  if (trouble) paths[path]?.(request, response, trouble);
});
const apiPort = await portOf(api);
started.defer(() => {
  api.closeAllConnections();
  api.close();
});

/** A wire to the database server; as long as there is trouble it goes dead with the first message that holds the text. */
interface Wire {
  readonly port: number;
  trouble: Trouble | null;
}

async function startWire(deadlyText: string): Promise<Wire> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((client) => {
    const { hostname, port } = testDatabaseUrl();
    const database = connect(Number(port), hostname);
    const isDead = (chunk: Buffer) => {
      const { trouble } = wire;
      if (!trouble || trouble.isOver || !chunk.includes(deadlyText)) return false;
      trouble.waiting.resolve();
      return true;
    };
    let dead = false;
    for (const [from, to] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
      from.on('data', (chunk) => {
        dead ||= isDead(chunk);
        if (!dead) to.write(chunk);
      });
    }
  });
  const wire: Wire = { port: await portOf(server), trouble: null };
  started.defer(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return wire;
}

const sqlServer = started.use(await startLaneServer());
interface Place {
  readonly what: string;
  readonly path?: string;
  /** Parts of the resource, of `http` and of the spec that differ from the usual; the spec by the URL of the case. */
  readonly resource?: Json;
  readonly http?: Json;
  readonly spec?: (url: string) => Json;
  /** The text of {@link startWire}; a wire for this case. */
  readonly deadAt?: string;
  readonly holdsBatch?: true;
}

const paged = {
  path: '/pages',
  resource: { pagination: { kind: 'page', size: 600, inject: { in: 'query', name: 'page' } } },
};
const toWebhook = (path: string) => (url: string) => ({
  destination: { kind: 'webhook', url: `${url}${path}`, signingSecret: 'a secret of at least 24 bytes' },
});
const put = { in: 'header', name: 'X-Token' };
const places: readonly Place[] = [
  { what: 'for a response', path: '/silent' },
  { what: 'for the rest of a body', path: '/half' },
  { what: 'for what it was redirected to', path: '/redirect' },
  {
    what: 'for a token',
    spec: (url) => ({
      auth: { kind: 'oauth2_client_credentials', tokenUrl: `${url}/silent`, clientId: 'c', clientSecret: 's' },
    }),
  },
  {
    what: 'for a login',
    spec: () => ({ auth: { kind: 'session', login: { path: '/silent' }, tokenFrom: 'body.access_token', put } }),
  },
  {
    what: 'for a lookup table',
    spec: () => ({ lookups: [{ kind: 'request', assignTo: 'codes', request: { path: '/silent' }, keyBy: 'id' }] }),
    resource: { transform: '{ "id": id, "code": $lookups.codes }' },
  },
  { what: 'for an enrichment', resource: { enrich: [{ assignTo: 'more', request: { path: '/silent' } }] } },
  { what: 'as long as the API asks', path: '/busy' },
  { what: 'as long as the API asks, on a durable timer', path: '/busier' },
  { what: 'for the rate limit', ...paged, http: { rateLimit: { requests: 1, perSeconds: 9 } } },
  { what: 'for a database that is silent at the login', deadAt: 'connector-sync' },
  { what: 'for a database that is silent when the lane is opened', deadAt: 'pg_class' },
  { what: 'for a database that is silent in the only batch', deadAt: 'unnest' },
  { what: 'for a database that is silent in a batch with others behind it', ...paged, deadAt: 'unnest' },
  {
    what: 'for a SQL Server that is silent in a batch',
    spec: () => ({ destination: sqlServer.declared }),
    holdsBatch: true,
  },
  { what: 'for a receiver without a response', spec: toWebhook('/silent') },
  { what: 'as long as a receiver asks', spec: toWebhook('/busy') },
];

const wires = new Map<string, Wire>();
for (const { what, deadAt } of places) if (deadAt !== undefined) wires.set(what, await startWire(deadAt));
const ports = [apiPort, sqlServer.port, ...[...wires.values()].map(({ port }) => port)];
const shared = useStack({}, { allow: ports.map((port) => `127.0.0.1:${port}`) });

// They wait for most of their time, each for systems of its own.
describe.concurrent('a run that waits', () => {
  it.each(places)('$what is canceled within two seconds, and the next one succeeds', async (place) => {
    const trouble = newTrouble();
    const batch = place.holdsBatch ? sqlServer.hold('asked', 1) : null;
    const { request, cancel, ended } = await connectionOf(place, trouble);
    const runId = await request();
    await (batch?.reached ?? trouble.waiting.promise);
    await cancel(runId);
    expect(await ended(runId)).toMatchObject({ status: 'canceled', error: null });
    expect(await msToCancel(runId)).toBeLessThan(msMax);
    trouble.isOver = true;
    batch?.release();
    // It would wait for the limit as well.
    if (place.http) return;
    expect((await ended(await request())).status).toBe('succeeded');
  });
});

/** From the request to cancel it until the run had ended, ms. */
async function msToCancel(runId: string): Promise<number> {
  const { db } = shared().stack;
  const run = db.selectFrom('runs').select(['cancelRequestedAt', 'finishedAt']).where('id', '=', runId);
  const { cancelRequestedAt, finishedAt } = await run.executeTakeFirstOrThrow();
  return Number(new Date(finishedAt ?? Number.NaN)) - Number(new Date(cancelRequestedAt ?? Number.NaN));
}

let specs = 0;

async function connectionOf({ what, path = '/items', resource, http, spec }: Place, trouble: Trouble) {
  const { org } = shared().stack;
  const ask = async (method: string, to: string, body?: unknown) => {
    const reply = await org.call(method, to, { body });
    expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(400);
    return reply.body;
  };
  const url = new URL(started.use(await openAuditedDestination()).url);
  const wire = wires.get(what);
  if (wire) {
    wire.trouble = trouble;
    url.port = String(wire.port);
  }
  specs += 1;
  const key = `cancel-${specs}`;
  troubles.set(key, trouble);
  const baseUrl = `http://127.0.0.1:${apiPort}/${key}`;
  await ask('POST', '/specs', {
    metadata: { key, name: key, version: '1.0.0' },
    connectionParams: ['databaseUrl', 'destination'].map((name) => ({ key: name, type: 'string', secret: true })),
    http: { baseUrl, timeoutMs: 120_000, rateLimit: { requests: 1_000_000, perSeconds: 1 }, ...http },
    resources: [{ key: 'items', primaryKey: 'id', request: { path }, ...resource }],
    destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
    ...spec?.(baseUrl),
  });
  await ask('POST', `/specs/${key}/versions/1.0.0/publish`);
  const { id } = await ask('POST', '/connections', {
    workspaceId: org.workspaceId,
    specKey: key,
    specVersion: '1.0.0',
    displayName: key,
    params: {},
    secrets: { databaseUrl: url.href, destination: sqlServer.secret },
  });
  await ask('POST', `/connections/${id}/activate`);
  return {
    request: async (): Promise<string> => (await ask('POST', `/connections/${id}/sync`, { resource: 'items' })).id,
    cancel: (runId: string) => ask('POST', `/runs/${runId}/cancel`),
    ended: (runId: string): Promise<RunRow> =>
      eventually('the run ends', async () => {
        const run = await ask('GET', `/runs/${runId}`);
        return run.finishedAt !== null && run;
      }),
  };
}
