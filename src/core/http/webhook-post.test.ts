import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { parseAllowList } from './addresses.ts';
import { createEgressGuard } from './egress.ts';
import { createWebhookSender, type PostOutcome, type WebhookPost } from './webhook-post.ts';

type Reply = (response: ServerResponse, request: IncomingMessage) => void;

interface Seen {
  readonly url: string;
  readonly body: Buffer;
  readonly headers: IncomingMessage['headers'];
  readonly socket: Socket;
}

/** A server that responds as it is told, and what it saw. */
async function startServer(reply: Reply) {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const { url = '', headers, socket } = request;
    const chunks: Buffer[] = [];
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => {
        seen.push({ url, body: Buffer.concat(chunks), headers, socket });
        reply(response, request);
      });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const guard = createEgressGuard({ allow: parseAllowList(`127.0.0.1:${port}`), deny: [], allowHttp: false });
  const send = createWebhookSender(guard);
  return {
    seen,
    url: `http://127.0.0.1:${port}`,
    post: (
      path: string,
      { endpoint = 'whe_1', ...own }: Partial<WebhookPost> & { readonly endpoint?: string } = {},
    ) => {
      const url = new URL(path, `http://127.0.0.1:${port}`);
      return send(endpoint, { url, headers: {}, body: Buffer.from('{}'), timeoutMs: 5000, ...own });
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

const failure = ({ statusCode, errorCode }: PostOutcome) => ({ statusCode, errorCode });

describe('a request', () => {
  it('has the bytes and headers that were given, and nothing that asks for a compressed response', async () => {
    await using server = await startServer((response) => response.end('thanks'));
    const body = Buffer.from([0xff, 0x00, 0xc3, 0xa4]);
    const outcome = await server.post('/in?x=1', { headers: { 'content-type': 'application/json' }, body });
    expect(outcome).toMatchObject({ statusCode: 200, errorCode: null, body: 'thanks' });
    const [seen] = server.seen;
    expect(seen?.url).toBe('/in?x=1');
    expect(seen?.body).toEqual(body);
    expect(seen?.headers).toMatchObject({ 'content-type': 'application/json', 'content-length': '4' });
    for (const name of ['accept-encoding', 'transfer-encoding', 'accept-language', 'sec-fetch-mode']) {
      expect(seen?.headers).not.toHaveProperty(name);
    }
  });

  it.each([301, 302, 303, 307, 308])('follows no redirect of status %d', async (status) => {
    await using server = await startServer((response) => response.writeHead(status, { location: '/other' }).end());
    expect(failure(await server.post('/first'))).toEqual({ statusCode: status, errorCode: 'redirect' });
    expect(server.seen.map(({ url }) => url)).toEqual(['/first']);
  });

  it('is not sent where the guard does not lead, also to an address in another spelling', async () => {
    await using server = await startServer((response) => response.end());
    const port = new URL(server.url).port;
    for (const host of ['[::ffff:127.0.0.2]', '127.0.0.2', '169.254.169.254', '0']) {
      const outcome = await server.post('/', { url: new URL(`http://${host}:${port}/`) });
      expect(failure(outcome), host).toEqual({ statusCode: null, errorCode: 'egress_blocked' });
    }
    expect(server.seen).toEqual([]);
  });

  it('ends at its deadline when no response arrives', async () => {
    await using server = await startServer(() => undefined);
    expect(failure(await server.post('/', { timeoutMs: 200 }))).toEqual({ statusCode: null, errorCode: 'timeout' });
  });

  it('ends at the same deadline when the response arrives byte by byte', async () => {
    await using server = await startServer((response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(drip));
    });
    const outcome = await server.post('/', { timeoutMs: 300 });
    expect(failure(outcome)).toEqual({ statusCode: 200, errorCode: 'body_too_slow' });
  });

  it('reports a connection reset before the response and in the middle of it', async () => {
    await using server = await startServer((response, { url, socket }) => {
      if (url === '/within') response.writeHead(200, { 'content-length': 10 }).write('half', () => socket.destroy());
      else socket.destroy();
    });
    expect(failure(await server.post('/before'))).toEqual({ statusCode: null, errorCode: 'connection_reset' });
    expect(failure(await server.post('/within'))).toEqual({ statusCode: 200, errorCode: 'connection_reset' });
  });

  it('with an endless response is delivered: 64 KiB of it are read, 32 KiB kept, and the socket is closed', async () => {
    const closed = Promise.withResolvers<number>();
    await using server = await startServer((response) => {
      let sent = 0;
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(16_384))) sent += 16_384;
      };
      response.on('drain', more).on('close', () => closed.resolve(sent));
      more();
    });
    const outcome = await server.post('/');
    expect(failure(outcome)).toEqual({ statusCode: 200, errorCode: null });
    expect(outcome.body).toBe('x'.repeat(32_768));
    expect(await closed.promise).toBeGreaterThan(0);
  });

  it('uses a socket of those before it, and never that of another endpoint', async () => {
    await using server = await startServer((response) => response.end());
    for (let n = 0; n < 10; n += 1) await server.post('/');
    const own = new Set(server.seen.map(({ socket }) => socket));
    expect(own.size).toBeLessThanOrEqual(2);
    await server.post('/', { endpoint: 'whe_2' });
    expect(own).not.toContain(server.seen.at(-1)?.socket);
  });
});
