import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ApiError, createClient, finishedRun, NetworkError } from './index.ts';

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

type Reply = (response: ServerResponse) => void;

let server: Server;
let url: string;
let seen: Seen[];
/** The replies to come; the last one repeats. */
let replies: Reply[];

beforeAll(async () => {
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url: path = '', headers } = request;
    seen.push({ method, url: path, headers, body: await text(request) });
    const reply = replies.length > 1 ? replies.shift() : replies[0];
    reply?.(response);
  };
  server = createServer((request, response) => void respond(request, response));
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});
beforeEach(() => {
  seen = [];
  replies = [];
});

const json =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Reply =>
  (response) =>
    response.writeHead(status, headers).end(JSON.stringify(body));
const reset: Reply = (response) => response.socket?.resetAndDestroy();
const apiError = (code: string, message: string) => ({ error: { code, message } });

const retry = { firstDelayMs: 1 };
const client = () => createClient({ url, apiKey: 'ck_test', retry });
const creation = { body: { name: 'Europe', kind: 'prod' } } as const;
const failure = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => value,
    (error: unknown) => error,
  );

describe('a call', () => {
  it('has the address, the query, the body and the key that it says', async () => {
    replies = [json(200, [])];
    const query = { connectionId: 'con_1', since: '2026-01-01T00:00:00+01:00' };
    await createClient({ url: `${url}/behind/a/proxy/`, apiKey: async () => 'ck_later' }).get('/runs', { query });
    await client().patch('/schedules/{id}', { params: { id: 'sched/1' }, body: { enabled: false } });
    expect(seen.map(({ method, url: path }) => `${method} ${path}`)).toEqual([
      'GET /behind/a/proxy/api/v1/runs?connectionId=con_1&since=2026-01-01T00%3A00%3A00%2B01%3A00',
      'PATCH /api/v1/schedules/sched%2F1',
    ]);
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer ck_later', 'Bearer ck_test']);
    expect([seen[1]?.body, seen[1]?.headers['content-type']]).toEqual(['{"enabled":false}', 'application/json']);
  });

  it('sends a text as YAML', async () => {
    replies = [json(201, {})];
    await client().post('/specs', { body: 'metadata: {}' });
    expect([seen[0]?.body, seen[0]?.headers['content-type']]).toEqual(['metadata: {}', 'application/yaml']);
  });

  it('gives the response where its headers are wanted', async () => {
    replies = [json(200, [], { 'x-total-count': '0' })];
    const { data, response } = await client().send('GET /connections');
    expect([data, response.headers.get('x-total-count')]).toEqual([[], '0']);
  });
});

describe('a mistake of the caller', () => {
  it.each(['localhost:3100', '', 'https://', 'https://sync.example.com/api/v1', 'https://sync.example.com/api/v1/'])(
    'in the URL is an error before anything is sent: %s',
    (wrong) => expect(() => createClient({ url: wrong, apiKey: 'ck_test' })).toThrow(/^url is where the service is/),
  );

  it('in the parameters of a path is an error before anything is sent', async () => {
    const read = (id: string) => failure(client().get('/connections/{id}', { params: { id } }));
    expect(await read('')).toMatchObject({ message: '/connections/{id} needs params.id, which is empty.' });
    expect(await read(undefined as unknown as string)).toMatchObject({ message: expect.stringContaining('missing') });
    expect(seen).toEqual([]);
  });
});

describe('a refusal', () => {
  it('is an error with status, code, issues and the id of the request', async () => {
    const issues = [{ code: 'schema', path: 'name', message: 'is missing' }];
    replies = [json(400, { error: { code: 'validation', message: 'No.', issues } }, { 'x-request-id': 'r1' })];
    const error = await failure(client().post('/workspaces', creation));
    expect(error).toBeInstanceOf(ApiError);
    const facts = { status: 400, code: 'validation', message: 'No.', issues, requestId: 'r1' };
    expect(error).toMatchObject({ ...facts, operation: 'POST /workspaces' });
    expect(seen).toHaveLength(1);
  });

  it('of something that is not the service is an error too', async () => {
    replies = [(response) => response.writeHead(404).end('<html>')];
    const error = await failure(client().get('/workspaces'));
    expect(error).toMatchObject({ status: 404, code: null, issues: [], message: expect.stringContaining('address') });
  });
});

describe('a request', () => {
  it.each([502, 503, 504])('is repeated after %i, under the same idempotency key', async (status) => {
    replies = [json(status, {}), json(status, {}), json(201, { id: 'ws_1' })];
    await expect(client().post('/workspaces', creation)).resolves.toEqual({ id: 'ws_1' });
    const keys = new Set(seen.map(({ headers }) => headers['idempotency-key']));
    expect([seen.length, keys.size]).toEqual([3, 1]);
    expect([...keys][0]).toMatch(/^[0-9a-f]{32}$/);
  });

  it('has a key of its own for each call, or the one it is given', async () => {
    replies = [json(201, {})];
    await client().post('/workspaces', creation);
    await client().post('/workspaces', creation);
    await client().post('/workspaces', { ...creation, idempotencyKey: 'mine' });
    const [first, second, third] = seen.map(({ headers }) => headers['idempotency-key']);
    expect(first).not.toBe(second);
    expect(third).toBe('mine');
  });

  it('is repeated when the connection is lost, before the response or within it', async () => {
    const half: Reply = (response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('[', () => response.socket?.resetAndDestroy());
    };
    replies = [reset, half, json(200, [])];
    await expect(client().get('/workspaces')).resolves.toEqual([]);
    expect(seen).toHaveLength(3);
  });

  it('waits as long as the service asks, in seconds or until a date', async () => {
    const date = new Date(Date.now() + 1000).toUTCString();
    replies = [json(429, {}, { 'retry-after': '1' }), json(429, {}, { 'retry-after': date }), json(200, [])];
    const begin = performance.now();
    await client().get('/workspaces');
    expect(performance.now() - begin).toBeGreaterThan(990);
    expect(seen).toHaveLength(3);
  });

  it('is not repeated when the service asks for a longer wait than allowed', async () => {
    replies = [json(429, apiError('rate_limited', 'Later.'), { 'retry-after': '3600' })];
    expect(await failure(client().get('/workspaces'))).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(seen).toHaveLength(1);
  });

  it('that would do its work twice is repeated after 429 only', async () => {
    const requeue = () => client().post('/quarantine/requeue', { body: { connectionId: 'con_1' } });
    replies = [reset];
    expect(await failure(requeue())).toBeInstanceOf(NetworkError);
    replies = [json(503, {})];
    expect(await failure(requeue())).toMatchObject({ status: 503 });
    expect(seen).toHaveLength(2);
    replies = [json(429, {}), json(200, { requeued: 1 })];
    expect(await requeue()).toEqual({ requeued: 1 });
    expect(seen.map(({ headers }) => headers['idempotency-key'])).toEqual([undefined, undefined, undefined, undefined]);
  });

  it.each([500, 409])('is not repeated after %i', async (status) => {
    replies = [json(status, {})];
    expect(await failure(client().get('/workspaces'))).toMatchObject({ status });
    expect(seen).toHaveLength(1);
  });

  it('that never gets a response is an error that says how often it was tried', async () => {
    replies = [reset];
    const error = await failure(client().get('/workspaces'));
    expect(error).toBeInstanceOf(NetworkError);
    expect(error).toMatchObject({ attempts: 4, operation: 'GET /workspaces', cause: expect.any(Error) });
    expect(seen).toHaveLength(4);
  });

  it('ends at its timeout, and is tried again', async () => {
    replies = [() => undefined, json(200, [])];
    await expect(createClient({ url, apiKey: 'ck_test', retry, timeoutMs: 50 }).get('/workspaces')).resolves.toEqual(
      [],
    );
    expect(seen).toHaveLength(2);
  });
});

describe('a signal', () => {
  it('ends a request in flight', async () => {
    replies = [() => undefined];
    const ending = new AbortController();
    const call = failure(client().get('/workspaces', { signal: ending.signal }));
    await expect.poll(() => seen.length).toBe(1);
    ending.abort(new Error('enough'));
    expect(await call).toMatchObject({ message: 'enough' });
  });

  it('ends a wait between two attempts', async () => {
    replies = [json(503, {}, { 'retry-after': '20' })];
    const ending = new AbortController();
    const call = failure(client().get('/workspaces', { signal: ending.signal }));
    await expect.poll(() => seen.length).toBe(1);
    ending.abort(new Error('enough'));
    expect(await call).toMatchObject({ message: 'enough' });
  });

  it('that has ended lets nothing be sent', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    expect(await failure(client().get('/workspaces', { signal }))).toMatchObject({ message: 'enough' });
    expect(seen).toEqual([]);
  });
});

describe('a list', () => {
  const elements = async (): Promise<unknown[]> => {
    const all: unknown[] = [];
    for await (const element of client().each('/workspaces')) all.push(element);
    return all;
  };

  it('comes element by element, wherever its bytes are cut', async () => {
    const list = [{ a: '],"[{\\' }, [], 'a "text", 💧', 7, null, { deep: [{ b: [1, 2] }] }];
    const bytes = Buffer.from(JSON.stringify(list, null, 1));
    replies = [
      async (response) => {
        for (const byte of bytes) if (!response.write(Buffer.of(byte))) await new Promise((sent) => setImmediate(sent));
        response.end();
      },
    ];
    expect(await elements()).toEqual(list);
  });

  it('is given out before it is complete, and may be left early', async () => {
    let ended = false;
    replies = [
      (response) => {
        response.on('close', () => {
          ended = true;
        });
        response.write('[{"id":"ws_1"},');
      },
    ];
    for await (const { id } of client().each('/workspaces')) {
      expect(id).toBe('ws_1');
      break;
    }
    await expect.poll(() => ended).toBe(true);
  });

  it.each(['[', '[{"a":1},', '[{"a":1}'])('that ends too early is an error: %s', async (part) => {
    replies = [(response) => response.end(part)];
    expect(await failure(elements())).toMatchObject({ message: expect.stringContaining('ended before its end') });
  });

  it('may be empty', async () => {
    replies = [json(200, [])];
    expect(await elements()).toEqual([]);
  });
});

describe('a run', () => {
  it('is followed to its end', async () => {
    const run = (status: string, finishedAt: string | null) => json(200, { status, finishedAt });
    replies = [run('queued', null), run('running', null), run('succeeded', '2026-01-01T00:00:00Z')];
    await expect(finishedRun(client(), 'run_1', { pollMsMax: 1 })).resolves.toMatchObject({ status: 'succeeded' });
    expect(seen).toHaveLength(3);
  });
});
