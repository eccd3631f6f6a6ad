import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import { openAuditedDestination } from '../support/destinations/audit.ts';
import { killers, messageOf } from '../support/postgres-fuzz/mutations.ts';
import { figure } from '../support/security/figure.ts';
import { eventually } from '../support/service/eventually.ts';
import { forgetPeak, peakMemory } from '../support/service/process-memory.ts';
import { useStack } from '../support/service/use-stack.ts';
import { isAlive, watchHealth } from '../support/service/watch-health.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

const loggedIn = Buffer.concat([messageOf('R', Buffer.alloc(4)), messageOf('Z', Buffer.from('I'))]);
const column = Buffer.concat([Buffer.from('a\0'), Buffer.alloc(18)]);
const described = messageOf('T', Buffer.concat([Buffer.from([0, 1]), column]));
const row = messageOf('D', Buffer.concat([Buffer.from([0, 1, 0, 0, 4, 0]), Buffer.alloc(1024, 'x')]));
const rows = Buffer.concat(Array.from({ length: 1000 }, () => row));
/** The response to the settings of a session, which names a schema. */
const settings = Buffer.concat([
  messageOf('T', Buffer.concat([Buffer.from([0, 1]), Buffer.from('schema\0'), Buffer.alloc(18)])),
  messageOf('D', Buffer.concat([Buffer.from([0, 1, 0, 0, 0, 6]), Buffer.from('public')])),
  messageOf('C', Buffer.from('SELECT 1\0')),
  messageOf('Z', Buffer.from('I')),
]);
const results = Buffer.concat(Array.from({ length: 10_000 }, () => messageOf('C', Buffer.from('A\0'))));
/** Databases by name: what their server says to the login, and to the first statement. */
const first = killers.map((bytes, index) => [`first${index}`, bytes] as const);
const second = killers.map((bytes, index) => [`second${index}`, bytes] as const);
const names = [...first, ...second].map(([name]) => name);

const server = createServer(serve);
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
afterAll(() => void server.close());

const shared = useStack({ collections: { records: generateRecords(10) } }, { allow: [`127.0.0.1:${port}`] });

describe("a customer's PostgreSQL that ends or freezes a driver", () => {
  it('fails the test of its connection, and the API serves others meanwhile', async () => {
    const { stack } = shared();
    const { pid } = stack.api();
    using health = watchHealth(stack.apiUrl);
    const victim = await stack.newOrg();
    for (const name of names) {
      const connection = await connect(name);
      const { status, body } = await stack.org.call('POST', `/connections/${connection}/test`);
      expect({ name, status, ok: body.ok }).toEqual({ name, status: 200, ok: false });
      expect(JSON.stringify(body)).toContain('The postgres destination is not used');
      expect((await victim.call('GET', '/connections')).status).toBe(200);
    }
    figure('hostileDatabaseEnds', { count: Number(!isAlive(pid)), of: names.length });
    expect(isAlive(pid)).toBe(true);
    expect(health.stop().every(Number.isFinite)).toBe(true);
  });

  it('fails its own runs, and the worker that carries out those of others stays as it is', async () => {
    const { stack } = shared();
    const { pid } = stack.worker();
    const connections = await Promise.all(names.map((name) => connect(name)));
    const runs = await Promise.all(connections.map(sync));
    await using destination = await openAuditedDestination();
    const own = await ended(await sync(await connectTo(destination.url)));
    expect(own.status).toBe('succeeded');
    for (const run of await Promise.all(runs.map(ended))) {
      expect(run).toMatchObject({ status: 'failed', error: { code: 'destination_rejected' } });
    }
    figure('hostileDatabaseEnds', { count: Number(!isAlive(pid)), of: names.length });
    expect(isAlive(pid)).toBe(true);
  });

  it.each([
    ['api', 'rows'],
    ['worker', 'rows'],
    ['worker', 'results'],
  ] as const)(
    'does not fill the %s with the %s of a response that never ends',
    async (process, flooded) => {
      const { stack } = shared();
      const { pid } = stack[process]();
      const connections = await Promise.all([1, 2, 3, 4].map(() => connect(flooded)));
      await forgetPeak(pid);
      const before = await peakMemory(pid);
      if (process === 'api') {
        await Promise.all(connections.map((id) => stack.org.call('POST', `/connections/${id}/test`)));
      } else {
        const runs = await Promise.all((await Promise.all(connections.map(sync))).map(ended));
        expect(runs.map(({ error }) => error.code)).toEqual(runs.map(() => 'destination_rejected'));
      }
      expect(isAlive(pid)).toBe(true);
      expect((await peakMemory(pid)) - before).toBeLessThan(150);
    },
    60_000,
  );
});

/** Responds as the name of the database says, which stands in the first message. */
function serve(socket: Socket): void {
  socket.on('error', () => undefined);
  socket.once('data', (startup) => {
    const name = /database\0([^\0]+)/.exec(startup.toString('latin1'))?.[1] ?? '';
    const atOnce = first.find(([known]) => known === name)?.[1];
    if (atOnce) return socket.write(atOnce);
    socket.write(loggedIn);
    return socket.once('data', () => {
      const response = second.find(([known]) => known === name)?.[1];
      if (response) return socket.write(response);
      if (name === 'results') {
        socket.write(settings);
        return socket.once('data', () => flood(socket, results));
      }
      socket.write(described);
      return flood(socket, rows);
    });
  });
}

function flood(socket: Socket, bytes: Buffer): void {
  while (!socket.destroyed && socket.write(bytes));
  socket.once('drain', () => flood(socket, bytes));
}

let published: Promise<void> | undefined;
const connect = (database: string) => connectTo(`postgres://u:p@127.0.0.1:${port}/${database}`);

async function connectTo(databaseUrl: string): Promise<string> {
  const { stack, upstream } = shared();
  const ask = async (path: string, body?: unknown) => {
    const response = await stack.org.call('POST', path, { body });
    expect(response.status, JSON.stringify(response.body)).toBeLessThan(400);
    return response.body;
  };
  published ??= (async () => {
    await ask('/specs', specDocument(upstream.url));
    await ask('/specs/records/versions/1.0.0/publish');
  })();
  await published;
  const { id } = await ask('/connections', {
    workspaceId: stack.org.workspaceId,
    specKey: 'records',
    specVersion: '1.0.0',
    displayName: 'Records',
    params: {},
    secrets: { databaseUrl },
  });
  await ask(`/connections/${id}/activate`);
  return id;
}

const specDocument = (baseUrl: string) => ({
  metadata: { key: 'records', name: 'Records', version: '1.0.0' },
  connectionParams: [{ key: 'databaseUrl', type: 'string', secret: true }],
  http: { baseUrl },
  resources: [
    {
      key: 'records',
      primaryKey: 'id',
      request: { path: '/cursor/records' },
      response: { records: 'data' },
      target: { table: 'records' },
    },
  ],
  destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
});

async function sync(connectionId: string): Promise<string> {
  const { status, body } = await shared().stack.org.call('POST', `/connections/${connectionId}/sync`, {
    body: { resource: 'records' },
  });
  expect(status, JSON.stringify(body)).toBe(202);
  return body.id;
}

const ended = (runId: string) =>
  eventually(`run ${runId} ends`, async () => {
    const { body } = await shared().stack.org.call('GET', `/runs/${runId}`);
    return body.finishedAt !== null && body;
  });
