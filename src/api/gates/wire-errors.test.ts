import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Hono } from 'hono';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiEnv } from '../serve-route.ts';
import { type ApiServer, listen } from '../server.ts';

let server: ApiServer;
beforeAll(async () => {
  const app = new Hono<ApiEnv>();
  app.get('/ok', (c) => c.text('fine'));
  app.get('/half', (c) =>
    c.body(new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('half')) })),
  );
  server = await listen(app, { host: '127.0.0.1', port: 0, headersTimeoutMs: 300 });
});
afterAll(() => server.stop());

/** All that the server sends on a connection until it ends; `next` is sent once the response has begun. */
function send(request: string, next?: string): Promise<string> {
  const socket = connect(server.port, '127.0.0.1');
  socket.write(request, 'latin1');
  if (next !== undefined) socket.once('data', () => socket.write(next, 'latin1'));
  return text(socket);
}

describe('a request that is no HTTP for the app', () => {
  it.each([
    ['a method that does not exist', 'FETCH / HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a space in the path', 'GET /a b HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a bad chunk', 'POST /ok HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 400],
    ['headers beyond 16 KiB', `GET /ok HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['headers that never end', 'GET /ok HTTP/1.1\r\nHost: x\r\n', 408],
    ['no Host', 'GET /ok HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['a Host that is none', 'GET /ok HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n', 400],
    ['the target *', 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
  ])('gets the same error body as every error, without a code: %s', async (_what, request, status) => {
    const [head = '', body = ''] = (await send(request)).split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} \\w`));
    expect(head).toMatch(/\r\nx-request-id: [0-9a-f-]{36}/);
    expect(JSON.parse(body.replaceAll(/^[0-9a-f]+\r\n|\r\n0\r\n$/g, ''))).toEqual({
      error: { message: expect.stringMatching(/\.$/) },
    });
  });

  it('closes the connection without an error when a response has already begun', async () => {
    const received = await send('GET /half HTTP/1.1\r\nHost: x\r\n\r\n', 'no request\r\n\r\n');
    expect(received).toMatch(/^HTTP\/1.1 200 OK[^]*half\r\n$/);
  });
});

describe('the server', () => {
  it('says for how many seconds it keeps an idle connection, as docs/operations/deploy.md has it for proxies', async () => {
    const response = await fetch(`http://127.0.0.1:${server.port}/ok`);
    expect(response.headers.get('keep-alive')).toBe('timeout=5');
    expect(await response.text()).toBe('fine');
  });

  it('responds to HTTP/1.0 requests without a Host header, as load balancers send them', async () => {
    expect(await send('GET /ok HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 200 OK[^]*fine$/);
  });

  it('ignores an expectation that it does not know', async () => {
    const request = 'GET /ok HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nConnection: close\r\n\r\n';
    expect(await send(request)).toMatch(/^HTTP\/1.1 200 OK/);
  });
});
