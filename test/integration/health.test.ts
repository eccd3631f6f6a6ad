import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../db/client.ts';
import { createApp } from '../../src/api/app.ts';
import { listen } from '../../src/api/server.ts';
import { type Reply, startApi, type TestApi, type TestOrg } from '../support/service/api.ts';

let api: TestApi;
let org: TestOrg;
beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
});
afterAll(() => api[Symbol.asyncDispose]());

const get = async (path: string, init: RequestInit = {}): Promise<Reply> => {
  const response = await api.app.request(path, init);
  return { status: response.status, headers: response.headers, body: await response.json() };
};

describe('health', () => {
  it('needs no key and looks at nothing', async () => {
    expect(await get('/api/health')).toMatchObject({ status: 200, body: { status: 'ok', service: 'connector-sync' } });
  });

  it('is ready when the database responds with every migration', async () => {
    expect(await get('/api/health/ready')).toMatchObject({ status: 200, body: { status: 'ready' } });
  });

  it('is not ready when a migration is missing, and names it', async () => {
    const { db } = api.deps;
    await sql`update kysely_migration set name = 'x' where name = '0002_specs'`.execute(db);
    const { status, body } = await get('/api/health/ready');
    await sql`update kysely_migration set name = '0002_specs' where name = 'x'`.execute(db);
    expect({ status, state: body.status }).toEqual({ status: 503, state: 'not_ready' });
    expect(body.detail).toContain('0002_specs');
  });

  it('is not ready when the database is unreachable, and does not show its address', async () => {
    const nowhere = { poolSize: 1, applicationName: 'test', onIdleError() {} };
    const db = openDatabase('postgres://user:hunter2@127.0.0.1:1/gone', nowhere);
    const app = createApp({ ...api.deps, db });
    const response = await app.request('/api/health/ready');
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({ status: 'not_ready', detail: 'the database does not respond' });
    expect((await app.request('/api/health')).status).toBe(200);
    await db.destroy();
  });
});

describe('every error', () => {
  it.each([
    ['/api/v1/specs', {}, 'unauthorized'],
    ['/api/v1/nope', {}, 'not_found'],
    ['/api/v1/connections', { method: 'POST', body: '{' }, 'without-a-code'],
    ['/api/v1/connections', { method: 'POST', body: '{}' }, 'validation'],
    ['/api/v1/specs', { method: 'DELETE' }, 'validation'],
  ])('of %s %o links to what its code means', async (path, init, code) => {
    const headers: Record<string, string> = code === 'unauthorized' ? {} : { authorization: `Bearer ${org.apiKey}` };
    const link = (await get(path, { ...init, headers })).headers.get('link');
    expect(link).toBe(`</api/errors.md#${code}>; rel="help"`);
    const page = await api.app.request('/api/errors.md');
    expect(page.status).toBe(200);
    expect(await page.text()).toContain(`\n### ${code}\n`);
  });
});

describe('the JSON Schema of a spec', () => {
  it('is served without a key, as it is in the repository, and outside /api/v1', async () => {
    expect((await get('/api/v1/connector-spec.schema.json')).status).toBe(401);
    const { status, headers, body } = await get('/api/connector-spec.schema.json');
    expect({ status, type: headers.get('content-type') }).toEqual({ status: 200, type: 'application/schema+json' });
    expect(body).toEqual(JSON.parse(readFileSync('connector-spec.schema.json', 'utf8')));
  });
});

describe('every response', () => {
  it('carries a request id, the caller’s own when it is sane', async () => {
    const idFor = async (given?: string) => {
      const headers = given === undefined ? {} : { 'x-request-id': given };
      return (await get('/api/v1/nope', { headers })).headers.get('x-request-id');
    };
    expect(await idFor()).toMatch(/^[0-9a-f-]{36}$/);
    expect(await idFor('trace-42')).toBe('trace-42');
    expect(await idFor('a b"c')).toMatch(/^[0-9a-f-]{36}$/);
    expect(await idFor('x'.repeat(500))).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('is not to be stored, sniffed or framed', async () => {
    for (const path of ['/api/health', '/api/v1/workspaces', '/api/v1/nope', '/elsewhere']) {
      const { headers } = await get(path, { headers: { authorization: `Bearer ${org.apiKey}` } });
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-powered-by')).toBeNull();
      expect(headers.get('access-control-allow-origin')).toBeNull();
    }
  });

  it('leaves one line in the log, without query and credentials', async () => {
    await get('/api/v1/runs?secret=hunter2', {
      headers: { authorization: `Bearer ${org.apiKey}`, 'x-request-id': 'logged-1' },
    });
    const lines = api.logLines.map((line) => JSON.parse(line)).filter(({ requestId }) => requestId === 'logged-1');
    expect(lines).toMatchObject([
      { message: 'request', method: 'GET', path: '/api/v1/runs', status: 200, orgId: org.orgId },
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/hunter2|ck_/);
  });
});

describe('an address without an endpoint', () => {
  it('is a 404 with a key, a 401 without one, and outside the interface always a 404', async () => {
    expect((await org.call('GET', '/nope')).body.error.code).toBe('not_found');
    expect((await org.call('GET', '/nope', { apiKey: null })).status).toBe(401);
    expect((await get('/nope')).body.error.code).toBe('not_found');
  });

  it('is a 405 that names the methods when another one would do', async () => {
    const reply = await org.call('PATCH', '/workspaces');
    expect(reply).toMatchObject({ status: 405, body: { error: { code: 'validation' } } });
    expect(reply.headers.get('allow')).toBe('GET, HEAD, POST');
    expect((await api.app.request('/api/health', { method: 'POST' })).status).toBe(405);
  });
});

describe('the document', () => {
  it('is the same with a key and outside the interface without one', async () => {
    const open = await get('/api/openapi.json');
    expect(open.body.openapi).toBe('3.1.0');
    expect((await org.call('GET', '/openapi.json')).body).toEqual(open.body);
    expect((await org.call('GET', '/openapi.json', { apiKey: null })).status).toBe(401);
  });
});

describe('the server', () => {
  it('ends what is open when it is told to stop, and takes nothing new', async () => {
    const server = await listen(api.app, { host: '127.0.0.1', port: 0 });
    const url = `http://127.0.0.1:${server.port}/api/health`;
    const open = fetch(url);
    const replied = await open;
    await server.stop();
    expect(replied.status).toBe(200);
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });

  it('says so when its port is taken', async () => {
    const server = await listen(api.app, { host: '127.0.0.1', port: 0 });
    await expect(listen(api.app, { host: '127.0.0.1', port: server.port })).rejects.toThrow(
      `PORT: another process has port ${server.port} of 127.0.0.1 (EADDRINUSE)`,
    );
    await server.stop();
  });
});
