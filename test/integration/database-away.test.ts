import { once } from 'node:events';
import { createServer } from 'node:net';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../db/client.ts';
import { createApp } from '../../src/api/app.ts';
import { routes } from '../../src/api/routes/index.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { testDatabaseUrl } from '../support/service/database-server.ts';
import { startTcpProxy, type TcpProxy } from '../support/service/tcp-proxy.ts';

let api: TestApi;
let org: TestOrg;
let url: URL;

beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(api.deps.db);
  url = testDatabaseUrl();
  url.pathname = `/${rows[0]?.name}`;
});
afterAll(() => api[Symbol.asyncDispose]());

/** The API with its database behind a port of this machine. */
function openAt(port: number) {
  const at = new URL(url);
  at.host = `127.0.0.1:${port}`;
  const db = openDatabase(at.href, { poolSize: 2, applicationName: 'test', onIdleError() {} });
  const app = createApp({ ...api.deps, db });
  const headers = { authorization: `Bearer ${org.apiKey}` };
  return {
    ask: (path: string, method = 'GET') => app.request(path, { method, headers }),
    [Symbol.asyncDispose]: () => db.destroy(),
  };
}

const startProxy = (): Promise<TcpProxy> => startTcpProxy(Number(url.port), { host: url.hostname });

const unavailable = {
  status: 503,
  retryAfter: '5',
  code: 'unavailable',
  message: 'The database of the service does not respond: send the request again after the time in Retry-After.',
};

async function seen(response: Response) {
  const { error } = JSON.parse(await response.text());
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    code: error.code,
    message: error.message,
  };
}

describe('without its database the API', () => {
  it('responds 503 with Retry-After at every route, and recovers by itself', async () => {
    const proxy = await startProxy();
    await using service = openAt(proxy.port);
    expect((await service.ask('/api/v1/workspaces')).status).toBe(200);
    await proxy[Symbol.asyncDispose]();
    const keyed = routes.filter(({ auth }) => auth === 'api_key');
    const paths = keyed.map(({ method, path }) => [`/api/v1${path}`, method.toUpperCase()] as const);
    for (const [path, method] of [...paths, ['/api/hooks/none', 'POST'] as const]) {
      expect({ path, ...(await seen(await service.ask(path, method))) }).toEqual({ path, ...unavailable });
    }
    await using again = await startTcpProxy(Number(url.port), { host: url.hostname, listenAt: proxy.port });
    expect(again.port).toBe(proxy.port);
    expect((await service.ask('/api/v1/workspaces')).status).toBe(200);
  });

  it('responds 503 to a request during which the connection breaks', async () => {
    await using proxy = await startProxy();
    await using service = openAt(proxy.port);
    expect((await service.ask('/api/v1/workspaces')).status).toBe(200);
    proxy.cutNextResponse();
    expect(await seen(await service.ask('/api/v1/workspaces'))).toEqual(unavailable);
  });

  it.each([
    ['57P03', 'the database system is starting up'],
    ['53300', 'sorry, too many clients already'],
  ])('responds 503 while the server refuses connections with %s: %s', async (code, message) => {
    const fields = [`SFATAL`, `C${code}`, `M${message}`, ''].map((field) => `${field}\0`).join('');
    const refusal = Buffer.alloc(5 + fields.length);
    refusal.write('E');
    refusal.writeInt32BE(4 + fields.length, 1);
    refusal.write(fields, 5);
    const server = createServer((socket) =>
      socket.on('error', () => undefined).once('data', () => socket.end(refusal)),
    );
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    await using service = openAt(address.port);
    expect(await seen(await service.ask('/api/v1/workspaces'))).toEqual(unavailable);
    server.close();
  });
});
