/** What was read is delivered while the next page is slow to come, however pages are asked for and wherever they go. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import { type CountedDestination, openAuditedDestination } from '../support/destinations/audit.ts';
import { startReceiver } from '../support/destinations/webhook-receiver.ts';
import { hookSecret } from '../support/destinations/webhook-sync.ts';
import { eventually } from '../support/service/eventually.ts';
import { useStack } from '../support/service/use-stack.ts';
import { startLaneServer } from '../support/sqlserver/lane.ts';

type Json = Readonly<Record<string, unknown>>;

const perPage = 50;
const pages = 6;
/** A second is what is promised. */
const deliveredMsMax = 5000;

const started = new AsyncDisposableStack();
afterAll(() => started.disposeAsync());

/** Sends the fourth page when the test lets it. */
let slow: { readonly asked: () => void; readonly released: Promise<void> };

/** Page `n`, from 1, and where the next one is, in every way at once. */
function send(n: number, response: ServerResponse): void {
  const first = (n - 1) * perPage;
  const records = n > pages ? [] : Array.from({ length: perPage }, (_, index) => ({ id: first + index }));
  const next = n < pages ? `${baseUrl}/items?number=${n + 1}` : null;
  if (next !== null) response.setHeader('link', `<${next}>; rel="next"`);
  response.end(JSON.stringify({ records, next, cursor: n < pages ? String(n + 1) : null }));
}

const api = createServer(({ url = '' }, response) => {
  const query = new URL(url, 'http://api').searchParams;
  const at = (name: string): number => Number(query.get(name) ?? Number.NaN);
  const known = [at('number'), at('offset') / perPage + 1, (at('after') + 1) / perPage + 1].find(Number.isInteger);
  const n = known ?? 1;
  if (n !== 4) return send(n, response);
  slow.asked();
  void slow.released.then(() => send(n, response));
});
await once(api.listen(0, '127.0.0.1'), 'listening');
started.defer(() => {
  api.closeAllConnections();
  api.close();
});
const hostPort = `127.0.0.1:${(api.address() as AddressInfo).port}`;
const baseUrl = `http://${hostPort}`;

const receiver = started.use(await startReceiver(hookSecret));
const sqlServer = started.use(await startLaneServer());
const shared = useStack({}, { allow: [hostPort, receiver.hostPort, `127.0.0.1:${sqlServer.port}`] });

const inject = (name: string) => ({ in: 'query', name });
const paginations: Readonly<Record<string, Json>> = {
  page: { inject: inject('number'), size: perPage },
  offset: { inject: inject('offset'), size: perPage },
  cursor: { inject: inject('number'), next: 'body.cursor' },
  keyset: { inject: inject('after'), field: 'id', size: perPage },
  next_url: { next: 'body.next' },
  link_header: {},
};

type Place = Pick<CountedDestination, 'declared' | 'secret' | 'count'>;
const places: Readonly<Record<string, () => Promise<Place>>> = {
  postgres: async () => started.use(await openAuditedDestination()),
  sqlserver: async () => sqlServer,
  webhook: async () => ({
    declared: { kind: 'webhook', url: receiver.url, signingSecret: '{{ secrets.destination }}' },
    secret: hookSecret,
    count: async (table) => receiver.rows(table).length,
  }),
};

const cases = [
  ...Object.keys(paginations).map((kind) => [kind, 'postgres'] as const),
  ['cursor', 'sqlserver'] as const,
  ['page', 'sqlserver'] as const,
  ['cursor', 'webhook'] as const,
  ['page', 'webhook'] as const,
];

describe('the pages before a slow one', () => {
  it.each(cases)('are delivered before it comes, though their batch is not full: %s to %s', async (kind, to) => {
    const asked = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    slow = { asked: asked.resolve, released: released.promise };
    const place = await places[to]?.();
    if (!place) throw new Error('There is such a destination');
    const table = `${kind}_to_${to}`;
    const sync = await connectionOf(table, { kind, ...paginations[kind] }, place);
    const ended = sync();
    await asked.promise;
    const askedAt = performance.now();
    await eventually('three pages are delivered', async () => (await place.count(table)) === 3 * perPage);
    expect(performance.now() - askedAt).toBeLessThan(deliveredMsMax);
    released.resolve();
    expect(await ended).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: pages * perPage } });
  });
});

async function connectionOf(table: string, pagination: Json, { declared, secret }: Place) {
  const { org } = shared().stack;
  const ask = async (method: string, to: string, body?: unknown) => {
    const reply = await org.call(method, to, { body });
    expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(400);
    return reply.body;
  };
  const key = table.replaceAll('_', '-');
  const request = { path: '/items' };
  await ask('POST', '/specs', {
    metadata: { key, name: key, version: '1.0.0' },
    connectionParams: [{ key: 'destination', type: 'string', secret: true }],
    http: { baseUrl, timeoutMs: 60_000, rateLimit: { requests: 1_000_000, perSeconds: 1 } },
    resources: [
      { key: table, primaryKey: 'id', request, response: { records: 'records' }, pagination, target: { table } },
    ],
    destination: declared,
  });
  await ask('POST', `/specs/${key}/versions/1.0.0/publish`);
  const { id } = await ask('POST', '/connections', {
    workspaceId: org.workspaceId,
    specKey: key,
    specVersion: '1.0.0',
    displayName: key,
    params: {},
    secrets: { destination: secret },
  });
  await ask('POST', `/connections/${id}/activate`);
  return async () => {
    const { id: runId } = await ask('POST', `/connections/${id}/sync`, { resource: table });
    return eventually('the run ends', async () => {
      const run = await ask('GET', `/runs/${runId}`);
      return run.finishedAt !== null && run;
    });
  };
}
